// Who is who in a split communicator.
//
// The ranks tell each other color and key where the parent's ranks meet; the new communicator is then made
// like any other, under a unique id that all its members derive. ncclCommSplit is not used: what it makes
// cannot be made again from the resource table once the parent has changed or gone, and live run and replay
// would take different ways.
// Called by: Communicator (cuda), Communicators (software).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/resources.h"

namespace jitc::device {

/// What a rank says to a split of the communicator.
struct SplitPost {
  int32_t color = 0, key = 0;
  uint64_t sequence = 0;  // of the split op on that rank
};

/// What the split gives to this rank, unless its color is negative. posts: by rank of the parent; color: own.
Resources::Communicator split_identity(const Resources::Communicator& parent,
                                       std::span<const SplitPost> posts, uint64_t handle, int32_t color);
/// Throws the OpError of a wait for ranks that have not split in time.
[[noreturn]] void refuse_late(std::span<const uint32_t> ranks, double seconds);
/// Payload of the split's result.
std::vector<std::byte> split_result(const Resources::Communicator& identity);

}  // namespace jitc::device
