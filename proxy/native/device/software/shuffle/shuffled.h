// The shuffled device (--shuffle SEED): what luck does to a program, at will and again and again.
//
// CUDA promises an order within a stream, at events, at the legacy default stream and at synchronization, and
// nothing else. A device that is always quick hides what a program, or we, take for granted beyond that. This
// one puts things off: the start of an op while other streams go on, the second half of a copy or collective,
// results, and reports of progress (the executor puts off what it reads, see Intake). Base of all choices:
// base/shuffle.h. Promises: everything that CUDA promises holds; nothing is put off for ever, and nothing so
// long that it could be taken for a hang; a device without it has none of its parts. Called by: Device.
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

  /// Where the parts of the device report.
  ExecutionSink& sink() { return reports_; }
  /// What the streams of this crew run on, before the runner that they would have otherwise. Once.
  Runner& before(Runner& runner, Crew& crew) { return streams_.emplace(shuffle_, runner, crew, later_); }

  /// Everything that was reported has been said.
  bool quiet() const { return reports_.none_waits(); }
  /// A fence or fault has come: nothing is held up any more.
  void give_up() { reports_.give_up(); }
  /// No op runs, and none will: what has not been said will not be.
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
