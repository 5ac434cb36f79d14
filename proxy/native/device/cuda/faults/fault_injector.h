// Faults on request, as real ones happen.
//
// A hung collective is one to which a rank does not come: its stream stands still in the collective's place,
// and the others wait for it. The fence ends both. At a cut link it aborts the communicator, and reports
// that. Lock rule: the device's mutex, the context bound, but for release(). Called by: Device.
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
  /// Throws OpError, Abandoned.
  void inject(std::string_view kind, const ops::OpHeader& op);
  /// Streams that stand still go on. Without the context, by one thread at a time; also while a fault is
  /// being injected, of which it need not know then.
  void release();

 private:
  void hang_collective(Stream& stream, const ops::Collective& op);
  void cut_link(const Stream& stream, const ops::Collective& op);

  Issuer& issuer_;
  Streams& streams_;
  CollectiveHandlers& collectives_;
  const std::string nvrtc_path_;
  std::unique_ptr<FaultKernels> kernels_;      // once a fault is injected
  std::atomic<FaultKernels*> made_ = nullptr;  // the same
};

}  // namespace jitc::cuda
