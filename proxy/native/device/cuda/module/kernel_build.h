// Machine code of the device's own kernels for a GPU: compiled by NVRTC, which is opened at run time.
//
// Promises: compiled once per process, library, kind of GPU and text, in a thread of its own that starts with
// the first request; a failure is a text, never an exception. NVRTC is never closed. Called by: hasher.cpp,
// when the GPU is opened; fault_kernels.cpp, when the first fault is injected.
#pragma once
#include <cstddef>
#include <future>
#include <string>
#include <vector>

namespace jitc::cuda {

struct KernelBuild {
  std::vector<std::byte> image;  // empty: no kernel, the reason is in error
  std::string error;
};

enum class KernelText { hash, faults };

/// Compilation, which begins with the first of these in the process. The compiler must not outlive its users:
/// ending the process while it works would crash.
class KernelWork {
 public:
  /// nvrtc_path may be empty: then there is no kernel. capability: 90 is compute capability 9.0.
  KernelWork(const std::string& nvrtc_path, int capability, KernelText text = KernelText::hash);
  ~KernelWork() { build_.wait(); }
  KernelWork(const KernelWork&) = delete;
  KernelWork& operator=(const KernelWork&) = delete;
  /// Waits for the end of the compilation.
  const KernelBuild& get() const { return build_.get(); }

 private:
  std::shared_future<KernelBuild> build_;
};

}  // namespace jitc::cuda
