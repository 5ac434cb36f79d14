// Membership of a split communicator.
//
// The ranks exchange color and key where the parent's ranks meet; the new communicator is then made like any
// other, under a unique id that all members derive. ncclCommSplit is not used: its result cannot be recreated
// from the resource table once the parent has changed or ended, and live run and replay would differ.
// Called by: Communicator (cuda), Communicators (software).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/resources.h"

namespace jitc::device {

/// Color and key that a rank contributes to a split.
struct SplitPost {
  int32_t color = 0, key = 0;
  uint64_t sequence = 0;  // of the split op on that rank
};

/// Returns this rank's new membership, unless its color is negative. posts: by rank of the parent; color:
/// own.
Resources::Communicator split_identity(const Resources::Communicator& parent,
                                       std::span<const SplitPost> posts, uint64_t handle, int32_t color);
/// Throws the OpError of a wait for ranks that did not split in time.
[[noreturn]] void refuse_late(std::span<const uint32_t> ranks, double seconds);
/// Returns the payload of the split's result.
std::vector<std::byte> split_result(const Resources::Communicator& identity);

}  // namespace jitc::device
