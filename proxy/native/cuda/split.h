// Who is who in a split communicator.
//
// The ranks tell each other color and key at the parent's meeting; the new communicator is then made like any
// other, under a unique id that all its members derive. ncclCommSplit is not used: what it makes cannot be
// made again from the resource table once the parent has changed or gone, and live run and replay would
// take different ways.
// Called by: Communicator.
#pragma once
#include <cstddef>
#include <vector>

#include "../core/backend.h"
#include "meeting.h"

namespace jitc::cuda {

/// What the split gives to this rank. posts: by rank of the parent; color: own, not negative.
Resources::Communicator split_identity(const Resources::Communicator& parent,
                                       const std::vector<SplitPost>& posts, uint64_t handle, int32_t color);
/// Payload of the split's result.
std::vector<std::byte> split_result(const Resources::Communicator& identity);

}  // namespace jitc::cuda
