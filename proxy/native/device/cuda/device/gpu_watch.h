// Watches the GPU while work is outstanding: a device that is lost, or that makes no progress, is at fault.
//
// Lock rule: the device's mutex is tried, never waited for. Called by: CompletionPoller, from its thread.
#pragma once
#include <mutex>

#include "device/common/run_state.h"
#include "device/cuda/driver/context.h"
#include "device/cuda/stream/streams.h"

namespace jitc::cuda {

class GpuWatch final : public Watcher {
 public:
  /// streams, poller: used once work is outstanding.
  GpuWatch(std::mutex& mutex, device::RunState& state, const Context& context, Streams& streams,
           const CompletionPoller& poller, double hang_seconds)
      : mutex_(mutex),
        state_(state),
        context_(context),
        streams_(streams),
        poller_(poller),
        hang_seconds_(hang_seconds) {}

  void look() override;
  void hung(uint64_t sequence, bool collective) override;

 private:
  std::mutex& mutex_;
  device::RunState& state_;
  const Context& context_;
  Streams& streams_;
  const CompletionPoller& poller_;
  const double hang_seconds_;
};

}  // namespace jitc::cuda
