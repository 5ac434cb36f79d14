// Real faults of a GPU on request: kernels that do harm, and a stream that stands still.
//
// Promises: nothing is loaded or allocated before the first one is requested; release() resumes stalled
// streams. Called by: FaultInjector, with the device's mutex held; release() also without it.
#pragma once
#include <atomic>
#include <memory>
#include <string>

#include "device/cuda/memory/pinned.h"

namespace jitc::cuda {

class FaultKernels {
 public:
  /// nvrtc_path: as for KernelWork; may be empty.
  FaultKernels(std::shared_ptr<Context> context, std::string nvrtc_path)
      : context_(std::move(context)), nvrtc_path_(std::move(nvrtc_path)), words_(context_) {}
  ~FaultKernels();
  FaultKernels(const FaultKernels&) = delete;
  FaultKernels& operator=(const FaultKernels&) = delete;

  /// Launches a kernel that stores to an unmapped address. These functions throw OpError.
  void access_illegally(abi::CUstream stream) { launch("jitc_illegal_access", stream); }
  /// Launches a kernel that ends only with its process.
  void never_end(abi::CUstream stream) { launch("jitc_endless_kernel", stream); }
  /// Makes all later work on the stream wait for release().
  void stand_still(abi::CUstream stream);
  /// Resumes stalled streams, if there are any.
  void release();

 private:
  void load();
  void launch(const char* kernel, abi::CUstream stream);

  const std::shared_ptr<Context> context_;
  const std::string nvrtc_path_;
  abi::CUmodule module_ = nullptr;
  Words words_;
  Word gate_;
  std::atomic<std::atomic<uint64_t>*> opened_ = nullptr;  // the gate's, once there is one
  std::atomic<uint64_t> gates_ = 0;                       // times a stream has been stalled
};

}  // namespace jitc::cuda
