// The frame around every exported function of the fake NCCL: log line, failures asked for, no exception out.
#pragma once
#include <unistd.h>

#include <initializer_list>

#include "../common/call_log.h"
#include "communicator.h"

namespace jitc::fakes {

template <class Body>
int nccl_call(const char* name, std::initializer_list<Field> fields, Body&& body) {
  CallLine line("nccl", name);
  for (const Field& field : fields) line.add(field);
  int result = asked_failure(name);
  while (result == kHang) ::pause();
  try {
    if (!result) result = body(line);
  } catch (const NcclFailure& failure) {
    result = failure.code;
  }
  line.finish(result);
  return result;
}

/// Throws kNcclInvalidArgument: the handle is not (any more) that of a communicator.
CommunicatorPointer communicator_of(ncclComm_t handle);
/// The same, and refuses one whose last call is in progress or that has an error, as NCCL does.
CommunicatorPointer ready(ncclComm_t handle);

}  // namespace jitc::fakes
