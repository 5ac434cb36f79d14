// See gpu_watch.h.
#include "gpu_watch.h"

#include <string>

#include "device/cuda/driver/error.h"

namespace jitc::cuda {

/// Checks the GPU if the mutex is free: its holder notices a dead device, or may be blocked by the driver.
void GpuWatch::look() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || !state_.running() || context_.bind() != 0) return;
  const Driver& driver = context_.driver();
  thread_local bool relaxed = false;
  int32_t mode = abi::kCaptureModeRelaxed;  // this thread's queries disturb no capture
  if (!relaxed) relaxed = driver.cuThreadExchangeStreamCaptureMode(&mode) == 0;
  for (const Stream* stream : streams_.all()) {
    if (poller_.idle(*stream->timeline())) continue;
    const auto status = driver.cuStreamQuery(stream->own());
    if (status == kSuccess || status == kNotReady) continue;
    const OpError error = error_of(driver, "work on the GPU", status);
    return state_.fault(streams_.suspect(), error.status, error.cause, error.message);
  }
}

void GpuWatch::hung(uint64_t sequence, bool collective) {
  state_.fault(sequence, kLaunchFailure, collective ? "hung-collective" : "hung-kernel",
               "the GPU made no progress for " + std::to_string(hang_seconds_) + " s at op " +
                   std::to_string(sequence));
}

}  // namespace jitc::cuda
