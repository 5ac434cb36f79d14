// libcudnn, opened at run time, and the meaning of its statuses.
//
// Promise: opened once per process, and never closed. Called by: dnn_objects.cpp and dnn.cpp.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/cuda/call/library_functions.h"
#include "device/cuda/driver/abi.h"
#include "jitc/generated_dnn.h"

namespace jitc::cuda {

using DnnStatus = int32_t;  // cudnnStatus_t

// X(function, parameters)
#define JITC_CUDNN(X)                                                                     \
  X(cudnnCreate, (void**))                                                                \
  X(cudnnDestroy, (void*))                                                                \
  X(cudnnSetStream, (void*, abi::CUstream))                                               \
  X(cudnnBackendCreateDescriptor, (int32_t, void**))                                      \
  X(cudnnBackendDestroyDescriptor, (void*))                                               \
  X(cudnnBackendSetAttribute, (void*, int32_t, int32_t, int64_t, const void*))            \
  X(cudnnBackendGetAttribute, (void*, int32_t, int32_t, int64_t, int64_t*, void*))        \
  X(cudnnBackendFinalize, (void*))                                                        \
  X(cudnnBackendExecute, (void*, void*, void*))                                           \
  X(cudnnGetTensorNdDescriptor, (void*, int32_t, int32_t*, int32_t*, int32_t*, int32_t*)) \
  X(cudnnSetDropoutDescriptor, (void*, void*, float, void*, size_t, uint64_t))            \
  X(cudnnGetRNNWeightParams,                                                              \
    (void*, void*, int32_t, size_t, const void*, int32_t, void*, void**, void*, void**))

class Cudnn {
 public:
  static constexpr size_t kKinds = static_cast<size_t>(ops::ObjectKind::transformer) + 1;
  struct Maker {
    DnnStatus (*create)(void**) = nullptr;
    DnnStatus (*destroy)(void*) = nullptr;
  };
#define JITC_CUDNN_MEMBER(function, parameters) DnnStatus(*function) parameters = nullptr;
  JITC_CUDNN(JITC_CUDNN_MEMBER)
#undef JITC_CUDNN_MEMBER
  size_t (*cudnnGetVersion)() = nullptr;

  /// Opens cuDNN. Throws OpError. beside: libraries that libcudnn asks the loader for by name; empty paths
  /// are skipped.
  static std::shared_ptr<const Cudnn> open(const std::string& path, const std::vector<std::string>& beside);
  /// Returns the maker of descriptors of a non-backend kind.
  const Maker& maker(ops::ObjectKind kind) const { return makers_.at(static_cast<size_t>(kind)); }
  const LibraryFunctions& functions() const { return functions_; }
  /// Returns the library's message about the calling thread's last failure.
  std::string last_words() const;

 private:
  void (*last_error_)(char*, size_t) = nullptr;  // since 9.0
  std::array<Maker, kKinds> makers_;
  LibraryFunctions functions_;
};

/// Functions of generated_dnn_worker.cpp, by identifier.
extern const CallFunction kDnnFunctions[];
extern const uint32_t kDnnFunctionsCount;

/// Throws unless the call succeeded.
void check_dnn(const Cudnn& library, const char* function, DnnStatus status);
/// Throws the nearest CUDA error if the outcome's status is an error.
void demand(const CallOutcome& outcome);

}  // namespace jitc::cuda
