// Communicators and groups as the files of this folder share them.
#pragma once
#include <functional>

#include "api/common/front.h"
#include "jitc/generated_ops.h"

namespace jitc::api {

struct Communicator {
  Session* session = nullptr;
  int device = 0;
  int32_t ranks = 0, rank = 0;
};
/// False: not a live communicator.
bool find_communicator(uint64_t comm, Communicator* out);
Status to_nccl(Status cuda);

/// A pre-multiplied sum that the program made; false when op is none.
struct PremulSum {
  double scale = 1;
  uint64_t scale_address = 0;
};
bool find_premul_sum(int32_t op, PremulSum* out);

/// Inside ncclGroupStart/End: an error fails the whole group. Returns the status.
Status note_error(Status status);
/// Inside ncclGroupStart/End: keep for the end. Outside: do it now.
Status submit_or_collect(Session* session, uint64_t stream, const ops::CollectiveItem& item);
/// The same for joining a communicator (waits for the other ranks).
Status join_or_collect(std::function<Status()> join);

}  // namespace jitc::api
