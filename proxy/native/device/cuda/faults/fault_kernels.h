// Injected faults that a GPU really has: kernels that do harm, and a stream that stands still.
//
// Promises: nothing is loaded or allocated before the first one is asked for; release() lets streams that
// stand still go on. Called by: FaultInjector, with the device's mutex held; release() without it as well.
#pragma once
#include <atomic>
#include <memory>
#include <string>

#include "device/cuda/memory/pinned.h"

namespace jitc::cuda {

class FaultKernels {
 public:
  /// nvrtc_path: as KernelWork has it; may be empty.
  FaultKernels(std::shared_ptr<Context> context, std::string nvrtc_path)
      : context_(std::move(context)), nvrtc_path_(std::move(nvrtc_path)), words_(context_) {}
  ~FaultKernels();
  FaultKernels(const FaultKernels&) = delete;
  FaultKernels& operator=(const FaultKernels&) = delete;

  /// A kernel that stores to an address where nothing is. These throw OpError.
  void access_illegally(abi::CUstream stream) { launch("jitc_illegal_access", stream); }
  /// A kernel that ends only with its process.
  void never_end(abi::CUstream stream) { launch("jitc_endless_kernel", stream); }
  /// Whatever the stream is given from now on waits for release().
  void stand_still(abi::CUstream stream);
  /// Nothing happens where nothing stands still.
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
  std::atomic<uint64_t> gates_ = 0;                       // so often has a stream been told to stand still
};

}  // namespace jitc::cuda
