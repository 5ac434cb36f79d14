// Ops that never end: injection and detection.
//
// A stalled op keeps the thread that submits ops to the device; to all others the device stands still at this
// op, which for a collective means a rank that does not arrive.
// Lock rule: a mutex of its own; any thread. Called by: Device, Streams.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "device/common/run_state.h"
#include "device/common/turns/residency.h"
#include "device/software/errors/impairment.h"
#include "hang_watch.h"
#include "stream.h"
#include "wait_hub.h"

namespace jitc::software {

class Hangs {
 public:
  /// hang_seconds: an op that runs for so long is a fault; 0: never.
  Hangs(WaitHub& hub, device::RunState& state, const device::Residency& residency, double hang_seconds);
  Hangs(const Hangs&) = delete;
  Hangs& operator=(const Hangs&) = delete;

  void watch(const std::shared_ptr<Stream>& stream);
  /// Returns the longest-running or stalled op; any thread. An op that waits for the turn at the GPU waits
  /// for others.
  std::optional<HangWatch::Running> oldest_running();
  /// Stalls before the op if it is the injected one, until a fence or fault. Throws Abandoned then.
  void pass(const ops::OpHeader& op) {
    if (impairment.stalls(op.sequence)) stall(op);
  }
  /// Stops reports and stalls after a fence.
  void fence();
  /// Restarts the time of the running op.
  void restart() { hang_watch_.restart(); }

  Impairment impairment;  // of the device: a fence ends it

 private:
  void stall(const ops::OpHeader& op);
  void report(HangWatch::Running op);

  WaitHub& hub_;
  device::RunState& state_;
  const device::Residency& residency_;
  std::mutex mutex_;  // guards what follows
  std::vector<std::weak_ptr<Stream>> watched_;
  std::optional<HangWatch::Running> stalled_;
  HangWatch hang_watch_;  // last: its thread uses all of the above
};

}  // namespace jitc::software
