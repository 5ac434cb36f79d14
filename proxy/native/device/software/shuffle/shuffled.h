// Shuffled device (--shuffle SEED): chance delays, repeatable at will.
//
// CUDA promises an order within a stream, at events, at the legacy default stream and at synchronization, and
// nothing else. A device that is always fast hides assumptions, of a program or ours, that CUDA does not
// guarantee. This one delays: the start of an op while other streams continue, the second half of a copy or
// collective, results, and progress reports (the executor delays what it reads, see Intake). Base of all
// choices: base/shuffle.h. Promises: everything that CUDA promises holds; no delay is endless, or so long
// that it looks like a hang; a device without it has none of its parts. Called by: Device.
#pragma once
#include <optional>

#include "base/shuffle.h"
#include "held_streams.h"
#include "late_reports.h"
#include "later.h"

namespace jitc::software {

class Shuffled {
 public:
  Shuffled(const Shuffle& shuffle, ExecutionSink& sink, WaitHub& hub)
      : shuffle_(shuffle), reports_(shuffle_, sink, hub, later_) {}

  /// Returns the sink that the device's parts report to.
  ExecutionSink& sink() { return reports_; }
  /// Returns the runner for this crew's streams, which wraps the original one. Once.
  Runner& before(Runner& runner, Crew& crew) { return streams_.emplace(shuffle_, runner, crew, later_); }

  /// Returns whether all reports have been sent.
  bool quiet() const { return reports_.none_waits(); }
  /// Ends delays: a fence or fault has arrived.
  void give_up() { reports_.give_up(); }
  /// Drops unsent reports. Requires that no op runs, and none will.
  void fence() {
    later_.drop();
    reports_.drop();
  }
  void unfence() { reports_.restart(); }

 private:
  const Shuffle shuffle_;
  LateReports reports_;
  std::optional<HeldStreams> streams_;
  Later later_;  // last: its thread uses the others
};

}  // namespace jitc::software
