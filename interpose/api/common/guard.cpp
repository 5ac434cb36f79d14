// Refusals, the last error, numbers for new things: the parts of guard.h and handles.h that are no templates.
#include "guard.h"

#include <dlfcn.h>

#include <atomic>
#include <span>
#include <string_view>

#include "handles.h"

namespace jitc::api {
namespace {

thread_local Status last_error = kSuccess;

void say_refused(const char* name, const std::string& why) noexcept {
  try {
    runtime::message_once(std::string(name) + " is not supported: " + why);
  } catch (...) {
    // Out of memory: the status still tells.
  }
}

/// The title of the library that the address lies in, when it is one that is not served; null: it is not.
const char* unserved_library(const void* address) {
  Dl_info found{};
  if (!address || !dladdr(address, &found) || !found.dli_fname) return nullptr;
  const std::string_view path = found.dli_fname;
  const std::string_view file = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  for (const Unserved& one : std::span(kUnserved, kUnservedCount))
    if (file.starts_with(one.file)) return one.title;
  return nullptr;
}

}  // namespace

uint64_t new_handle(Kind kind) {
  static std::atomic<uint64_t> last{0};
  constexpr uint64_t kNoAddress = uint64_t{1} << 62;
  return kNoAddress | ++last << 16 | uint64_t{static_cast<uint8_t>(kind)} << 8;
}

Status keep_error(Status status) {
  if (status != kSuccess && status != kNotReady) last_error = status;
  return status;
}

Status from_result(uint32_t status) {
  // An operator's own error is told by client_shim where the operator was called.
  return status > 0xffff ? kUnknown : static_cast<Status>(status);
}

Status too_many(const char* what, size_t most) {
  runtime::message_once("this program has " + std::to_string(most) + " " + what +
                        ", and one program may not have more: destroy those that are not needed any more");
  return kOutOfMemory;
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
Status refuse_driver(const char* name, const char* advice, const void* caller) noexcept {
  const char* const title = unserved_library(caller);
  say_refused(name, title ? std::string(title) + ", which called it, is not served" : advice);
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
Status refuse_unserved(const char* title, const char* name, Status status) noexcept {
  say_refused(name, std::string(title) + " is not served (docs/coverage.md)");
  return status;
}
Status refuse_cublaslt(const char* name, const char* advice) noexcept { return refuse_cublas(name, advice); }
Status refuse_cudnn(const char* name, const char* advice) noexcept {
  constexpr Status kDnnNotSupported = 3000;
  say_refused(name, advice);
  return kDnnNotSupported;
}

}  // namespace jitc::api
