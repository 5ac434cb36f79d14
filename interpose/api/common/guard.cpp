// See guard.h: refusals.
#include "guard.h"

#include <dlfcn.h>

#include <span>
#include <string_view>

#include "api/loader/loader.h"
#include "session/message.h"
#include "status.h"

namespace jitc::api {
namespace {

void say_refused(const char* name, const std::string& why) noexcept {
  try {
    session::message_once(std::string(name) + " is not supported: " + why);
  } catch (...) {
    // Out of memory: the status has to do.
  }
}

/// For CUDA's own functions, whose errors PyTorch turns into exceptions with the text that we give.
void say_and_keep(const char* name, const std::string& why) noexcept {
  say_refused(name, why);
  try {
    keep_refusal(std::string(name) + " is not supported: " + why);
  } catch (...) {
    // Out of memory: the text that the error always has must do.
  }
}

}  // namespace

const char* unserved_library(const void* address) {
  Dl_info found{};
  if (!address || !dladdr(address, &found) || !found.dli_fname) return nullptr;
  const std::string_view path = found.dli_fname;
  const std::string_view file = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  for (const Unserved& one : std::span(kUnserved, kUnservedCount))
    if (file.starts_with(one.file)) return one.title;
  return nullptr;
}

Status refuse_cudart(const char* name, const char* advice) noexcept {
  say_and_keep(name, advice);
  return keep_error(kNotSupported);
}
Status refuse_driver(const char* name, const char* advice, const void* caller) noexcept {
  const char* const title = unserved_library(caller);
  const std::string_view past = replaced_library(caller);
  if (title)
    say_and_keep(name, std::string(title) + ", which called it, is not served");
  else if (!past.empty())
    say_and_keep(name,
                 std::string(past) +
                     " was called past jitc (docs/guarantees.md, \"Libraries that a program opens itself\")");
  else
    say_and_keep(name, advice);
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
