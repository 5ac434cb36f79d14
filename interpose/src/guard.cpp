// Refusals and the last error: the part of guard.h that is not a template.
#include "guard.h"

namespace jitc::front {
namespace {

thread_local Status last_error = kSuccess;

void say_refused(const char* name, const char* advice) noexcept {
  try {
    runtime::message_once(std::string(name) + " is not supported: " + advice);
  } catch (...) {
    // Out of memory: the status still tells.
  }
}

}  // namespace

Status keep_error(Status status) {
  if (status != kSuccess && status != kNotReady) last_error = status;
  return status;
}

Status from_result(uint32_t status) {
  // An operator's own error is told by client_shim where the operator was called.
  return status > 0xffff ? kUnknown : static_cast<Status>(status);
}

int32_t cudaPeekAtLastError() { return last_error; }

int32_t cudaGetLastError() {
  const Status out = last_error;
  last_error = kSuccess;
  return out;
}

Status refuse_cudart(const char* name, const char* advice) noexcept {
  say_refused(name, advice);
  return keep_error(kNotSupported);
}
Status refuse_driver(const char* name, const char* advice) noexcept {
  say_refused(name, advice);
  return kNotSupported;
}
Status refuse_nccl(const char* name, const char* advice) noexcept {
  say_refused(name, advice);
  return kNcclInvalidUsage;
}
Status refuse_cublas(const char* name, const char* advice) noexcept {
  say_refused(name, advice);
  return kBlasNotSupported;
}
Status refuse_cublaslt(const char* name, const char* advice) noexcept { return refuse_cublas(name, advice); }

}  // namespace jitc::front
