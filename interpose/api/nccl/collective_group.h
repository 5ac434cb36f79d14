// Groups of NCCL calls: what is issued between ncclGroupStart and ncclGroupEnd of a thread is kept for the
// end.
//
// Used by collective.cpp and communicator.cpp.
#pragma once
#include <functional>

#include "api/common/visible_devices.h"
#include "jitc/generated_ops.h"

namespace jitc::api {

/// Inside ncclGroupStart/End: an error fails the whole group. Returns the status.
Status note_error(Status status);
/// Inside ncclGroupStart/End: keep for the end. Outside: do it now.
Status submit_or_collect(Session* session, uint64_t stream, const ops::CollectiveItem& item);
/// The same for joining a communicator (waits for the other ranks).
Status join_or_collect(std::function<Status()> join);

}  // namespace jitc::api
