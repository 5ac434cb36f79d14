// libnvrtc, NVIDIA's run-time compiler, opened at run time: one typed function pointer per function.
//
// Promises: it has all functions of JITC_NVRTC; opened once per path and never closed. Throws NvrtcError with
// one line. Called by: kernel_build.cpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

namespace jitc::cuda {

using NvrtcStatus = int32_t;  // nvrtcResult

// X(function, parameters)
#define JITC_NVRTC(X)                                                                                        \
  X(nvrtcVersion, (int32_t*, int32_t*))                                                                      \
  X(nvrtcCreateProgram, (void**, const char*, const char*, int32_t, const char* const*, const char* const*)) \
  X(nvrtcDestroyProgram, (void**))                                                                           \
  X(nvrtcCompileProgram, (void*, int32_t, const char* const*))                                               \
  X(nvrtcGetCUBINSize, (void*, size_t*))                                                                     \
  X(nvrtcGetCUBIN, (void*, char*))                                                                           \
  X(nvrtcGetProgramLogSize, (void*, size_t*))                                                                \
  X(nvrtcGetProgramLog, (void*, char*))

struct NvrtcError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Nvrtc {
 public:
#define JITC_NVRTC_MEMBER(function, parameters) NvrtcStatus(*function) parameters = nullptr;
  JITC_NVRTC(JITC_NVRTC_MEMBER)
#undef JITC_NVRTC_MEMBER
  static std::shared_ptr<const Nvrtc> open(const std::string& path);
  /// Throws unless the call succeeded; more: further details.
  void check(const char* what, NvrtcStatus status, const std::string& more = {}) const;

 private:
  void open_builtins(const std::string& path) const;
};

}  // namespace jitc::cuda
