// See status.h.
#include "status.h"

#include <string>

#include "api/generated/generated_api.h"
#include "session/message.h"
#include "visible_devices.h"

namespace jitc::api {
namespace {

thread_local Status last_error = kSuccess;
thread_local std::string refusal;

}  // namespace

Status keep_error(Status status) {
  if (status != kSuccess && status != kNotReady) last_error = status;
  return status;
}

void keep_refusal(const std::string& why) { refusal = "operation not supported: " + why; }
const char* last_refusal() { return refusal.empty() ? nullptr : refusal.c_str(); }

Status from_result(uint32_t status) {
  // client_shim reports an operator's own error at its call site.
  return status > 0xffff ? kUnknown : static_cast<Status>(status);
}

Status too_many(const char* what, size_t most) {
  session::message_once("this program has " + std::to_string(most) + " " + what +
                        ", and one program may not have more: destroy those that are not needed any more");
  return kMemoryAllocation;
}

Status not_submitted(const session::Session& session) {
  const uint32_t over = session.status();
  return over ? from_result(over) : kInvalidValue;
}

int32_t cudaPeekAtLastError() { return last_error; }

int32_t cudaGetLastError() {
  const Status out = last_error;
  last_error = kSuccess;
  return out;
}

}  // namespace jitc::api
