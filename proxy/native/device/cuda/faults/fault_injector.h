// Injects faults that look like real ones.
//
// A collective hangs if a rank does not join it: the rank's stream stands still in its place, and the others
// wait. The fence ends both. For a cut link the rank aborts the communicator and reports that. Lock rule: the
// device's mutex, the context bound, except for release(). Called by: Device.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "device/cuda/collective/collective_handlers.h"
#include "device/cuda/issue/issuer.h"
#include "fault_kernels.h"

namespace jitc::cuda {

class FaultInjector {
 public:
  FaultInjector(Issuer& issuer, Streams& streams, CollectiveHandlers& collectives, std::string nvrtc_path)
      : issuer_(issuer), streams_(streams), collectives_(collectives), nvrtc_path_(std::move(nvrtc_path)) {}
  FaultInjector(const FaultInjector&) = delete;
  FaultInjector& operator=(const FaultInjector&) = delete;

  static bool knows(std::string_view kind);
  /// Injects a fault. Throws OpError, Abandoned.
  void inject(std::string_view kind, const ops::OpHeader& op);
  /// Resumes stalled streams. Without the context, by one thread at a time; also while a fault is being
  /// injected, which it may miss.
  void release();

 private:
  void hang_collective(Stream& stream, const ops::Collective& op);
  void cut_link(const Stream& stream, const ops::Collective& op);

  Issuer& issuer_;
  Streams& streams_;
  CollectiveHandlers& collectives_;
  const std::string nvrtc_path_;
  std::unique_ptr<FaultKernels> kernels_;      // set once a fault is injected
  std::atomic<FaultKernels*> made_ = nullptr;  // the same
};

}  // namespace jitc::cuda
