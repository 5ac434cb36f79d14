// Refusals; see guard.h.
#include "guard.h"

#include <dlfcn.h>

#include <atomic>
#include <span>
#include <string_view>

#include "api/process/c_library.h"
#include "jitc/client_api.h"
#include "session/message.h"
#include "status.h"

namespace jitc::api {
namespace {

std::atomic<const Unserved*> newest_refused{nullptr};

void say_refused(const char* name, const std::string& why) noexcept {
  try {
    session::message_once(std::string(name) + " is not supported: " + why);
  } catch (...) {
    // Out of memory: the status must suffice.
  }
}

/// Reports and keeps a refusal of CUDA's own functions, whose errors PyTorch raises with our text.
void say_and_keep(const char* name, const std::string& why) noexcept {
  say_refused(name, why);
  try {
    keep_refusal(std::string(name) + " is not supported: " + why);
  } catch (...) {
    // Out of memory: the error's usual text must suffice.
  }
}

/// Returns the path of the file whose code is at the address; empty if there is none.
std::string_view file_with(const void* address) {
  Dl_info found{};
  if (!address || !dladdr(address, &found) || !found.dli_fname) return {};
  return found.dli_fname;
}

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }  // npos + 1 is 0

/// Name that only a CUDA runtime looks up; one loaded as a library is ours.
constexpr std::string_view kOnlyForRuntimes = "cuGetExportTable";
/// NVIDIA's driver, which looks it up too: NVML, starting in a process that has CUDA. It copes without.
constexpr std::string_view kOfTheDriver = "libnvidia-";

/// Returns advice about the CUDA runtime that is linked into the caller's file.
std::string instead_of_a_static_runtime(const void* caller, const char* advice) {
  const std::string_view path = file_with(caller);
  if (path.empty()) return advice;
  for (const StaticRuntime& one : std::span(kStaticRuntimes, kStaticRuntimeCount))
    if (path.find(one.part) != path.npos) advice = one.instead;
  return std::string(name_of(path)) + " has a CUDA runtime of its own, linked in statically: " + advice;
}

}  // namespace

const Unserved* unserved_library(const void* address) {
  const std::string_view file = name_of(file_with(address));
  for (const Unserved& one : std::span(kUnserved, kUnservedCount))
    if (file.starts_with(one.file)) return &one;
  return nullptr;
}

Status refuse_cudart(const char* name, const char* advice) noexcept {
  say_and_keep(name, advice);
  return keep_error(kNotSupported);
}
Status refuse_driver(const char* name, const char* advice, const void* caller) noexcept {
  const Unserved* const library = unserved_library(caller);
  const std::string_view past = replaced_library(caller);
  if (library) {
    newest_refused = library;
    say_and_keep(name, std::string(library->title) + ", which called it, is not served: " + library->instead);
  } else if (!past.empty())
    say_and_keep(name,
                 std::string(past) +
                     " was called past jitc (docs/guarantees.md, \"Libraries that a program opens itself\")");
  else if (name == kOnlyForRuntimes && name_of(file_with(caller)).starts_with(kOfTheDriver))
    return kNotSupported;
  else if (name == kOnlyForRuntimes)
    say_and_keep(name, instead_of_a_static_runtime(caller, advice));
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
Status refuse_unserved(const Unserved& library, const char* name, Status status) noexcept {
  newest_refused = &library;
  say_refused(name, std::string(library.title) + " is not served: " + library.instead);
  return status;
}
Status refuse_cublaslt(const char* name, const char* advice) noexcept { return refuse_cublas(name, advice); }
Status refuse_cudnn(const char* name, const char* advice) noexcept {
  constexpr Status kDnnNotSupported = 3000;
  say_refused(name, advice);
  return kDnnNotSupported;
}

}  // namespace jitc::api

extern "C" int jitc_refused_library(const char** title, const char** instead) {
  const jitc::api::Unserved* const one = jitc::api::newest_refused;
  if (!one) return 0;
  *title = one->title;
  *instead = one->instead;
  return 1;
}
