// Groups of NCCL calls: calls between ncclGroupStart and ncclGroupEnd of a thread are kept for the end.
//
// Used by collective.cpp and communicator.cpp.
#pragma once
#include <functional>

#include "api/common/visible_devices.h"
#include "jitc/generated_ops.h"

namespace jitc::api {

/// Fails the whole group inside ncclGroupStart/End. Returns the status.
Status note_error(Status status);
/// Keeps the call for the end inside ncclGroupStart/End. Outside: does it now.
Status submit_or_collect(Session* session, uint64_t stream, const ops::CollectiveItem& item);
/// Does the same for joining a communicator (waits for the other ranks).
Status join_or_collect(std::function<Status()> join);

}  // namespace jitc::api
