// Guard between an exported symbol and the hand-written function behind it.
//
// Included by the generated wrappers and the loader. Promises: no exception leaves; the runtime API's last
// error is kept per thread; in a child made by fork, no function that needs the service is called.
#pragma once
#include <exception>
#include <new>

#include "visible_devices.h"

#define JITC_EXPORT extern "C" __attribute__((visibility("default")))

namespace jitc::api {

/// Returns the status of a call; an exception becomes one of the given statuses.
template <bool kNeedsService, class Call>
Status run_guarded(Call&& call, Status in_child, Status no_memory, Status unknown) noexcept {
  try {
    if (kNeedsService && forked()) return in_child;
    return call();
  } catch (const std::bad_alloc&) {
    return no_memory;
  } catch (...) {
    return unknown;
  }
}

template <bool kNeedsService, class Call>
Status guard_cudart(Call&& call) noexcept {
  return keep_error(run_guarded<kNeedsService>(call, kInitializationError, kMemoryAllocation, kUnknown));
}
template <bool kNeedsService, class Call>
Status guard_driver(Call&& call) noexcept {
  return run_guarded<kNeedsService>(call, kInitializationError, kMemoryAllocation, kUnknown);
}
template <bool kNeedsService, class Call>
Status guard_nccl(Call&& call) noexcept {
  return run_guarded<kNeedsService>(call, kNcclUnhandledCudaError, kNcclSystemError, kNcclInternalError);
}
template <bool kNeedsService, class Call>
Status guard_cublas(Call&& call) noexcept {
  return run_guarded<kNeedsService>(call, kBlasNotInitialized, kBlasAllocFailed, kBlasInternalError);
}
template <bool kNeedsService, class Call>
Status guard_cublaslt(Call&& call) noexcept {
  return guard_cublas<kNeedsService>(call);
}
template <bool kNeedsService, class Call>
Status guard_cudnn(Call&& call) noexcept {
  constexpr Status kNotInitialized = 1001, kNoHostMemory = 4003, kInternalError = 4000;  // cudnnStatus_t
  return run_guarded<kNeedsService>(call, kNotInitialized, kNoHostMemory, kInternalError);
}

/// Refuses a function that the spec refuses: prints advice once, returns the API's not-supported error.
Status refuse_cudart(const char* name, const char* advice) noexcept;
/// Refuses likewise. caller: an address in the calling code; an unserved library there is named.
Status refuse_driver(const char* name, const char* advice, const void* caller = nullptr) noexcept;
Status refuse_nccl(const char* name, const char* advice) noexcept;
Status refuse_cublas(const char* name, const char* advice) noexcept;
Status refuse_cublaslt(const char* name, const char* advice) noexcept;
Status refuse_cudnn(const char* name, const char* advice) noexcept;

/// Library of NVIDIA that is not served: the start of its file name, its title, and advice.
struct Unserved {
  const char *file, *title, *instead;
};
extern const Unserved kUnserved[];
extern const unsigned kUnservedCount;
/// Package whose libraries have a CUDA runtime linked in: a part of their files' paths, and advice.
struct StaticRuntime {
  const char *part, *instead;
};
extern const StaticRuntime kStaticRuntimes[];
extern const unsigned kStaticRuntimeCount;
/// Returns the library that holds the address if it is not served; else null.
const Unserved* unserved_library(const void* address);
/// Refuses an entry of such a library: reports once that it is not served, returns the library's own status.
Status refuse_unserved(const Unserved& library, const char* name, Status status) noexcept;

}  // namespace jitc::api
