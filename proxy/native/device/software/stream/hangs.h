// Ops that never end: injected ones, and noticing them.
//
// A stalled op keeps the thread that gives ops to the device; to everybody else that is a device that stands
// still at this op, which for a collective means a rank that does not come.
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
  /// What has been running longest, or stands still; any thread. What waits for the turn at the GPU waits for
  /// others.
  std::optional<HangWatch::Running> oldest_running();
  /// Before the op is done: does not come back, until a fence or fault, when it is the one. Throws Abandoned
  /// then.
  void pass(const ops::OpHeader& op) {
    if (impairment.stalls(op.sequence)) stall(op);
  }
  /// After a fence has come: nothing is reported any more, nothing stalls.
  void fence();
  /// What runs has just been begun anew.
  void restart() { hang_watch_.restart(); }

  Impairment impairment;  // of the device: a fence ends it

 private:
  void stall(const ops::OpHeader& op);
  void report(HangWatch::Running op);

  WaitHub& hub_;
  device::RunState& state_;
  const device::Residency& residency_;
  std::mutex mutex_;  // what follows
  std::vector<std::weak_ptr<Stream>> watched_;
  std::optional<HangWatch::Running> stalled_;
  HangWatch hang_watch_;  // last: its thread uses all of the above
};

}  // namespace jitc::software
