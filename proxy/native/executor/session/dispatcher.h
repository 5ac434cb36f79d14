// The dispatcher: reads ops at the cursor in the journal and submits them to the back end.
//
// Live execution and replay are the same: only the cursor differs. Promises: while the dispatcher is parked
// (Lifecycle) it touches nothing, so commands may; an op that could not be taken comes again when the session
// continues. It has a thread; a few quick ops that end with one that the program waits for are dispatched by
// the stream's reader, while that thread sleeps. Called by: Session (its thread), ClientEnd, Recovery
// (through Lifecycle).
#pragma once
#include <atomic>
#include <thread>

#include "executor/core/lifecycle.h"
#include "executor/journal/journal.h"
#include "jitc/generated_ops.h"

namespace jitc {

class Backpressure;
class BoundaryMaker;
class Checkpoints;
class Drain;
class LateBoundary;
class Meeting;
class OpIssuer;
class Replay;
class SessionCore;
class StepGate;

/// The parts that take ops from the dispatcher.
struct OpTakers {
  OpIssuer& issuer;
  Backpressure& backpressure;
  Replay& replay;
  Checkpoints& checkpoints;
  StepGate& gate;
  BoundaryMaker& boundaries;
  LateBoundary& late;
  Drain& drain;
  Meeting& meeting;
};

class Dispatcher {
 public:
  Dispatcher(SessionCore& core, const OpTakers& takers) : core_(core), to_(takers) {}

  void start();
  /// Joins the thread, after Lifecycle::stop.
  void join();
  /// Notifies of new ops in the journal. Called in the stream's reader.
  void ops_came();
  /// Returns whether the calling thread dispatches.
  bool is_this_thread() const { return std::this_thread::get_id() == runner_.load(); }

 private:
  void loop();
  void sleep(Lifecycle::Lock& lock);
  bool is_needed() const;
  bool has_work() const;
  void run_ops();
  bool run_here();
  bool comes_to_a_wait() const;
  void run_quick_ops() noexcept;
  bool has_to_wait(const RecordHeader& record) const;
  bool take(const RecordHeader& record);
  bool dispatch(const RecordHeader& record);
  void issue(const ops::OpHeader& op);
  void park();
  /// Waits, and shows other ranks that it does.
  template <class Wait>
  bool stand(Wait&& wait);

  SessionCore& core_;
  const OpTakers to_;
  std::thread thread_;
  std::atomic<std::thread::id> runner_;
};

}  // namespace jitc
