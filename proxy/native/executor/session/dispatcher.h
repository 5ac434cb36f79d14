// The dispatcher: reads ops at the cursor in the journal and gives them to the back end.
//
// Live execution and replay are the same: only the cursor differs. Promises: while the dispatcher is parked
// (Lifecycle) it touches nothing, so commands may; an op that could not be taken comes again when the session
// goes on. Called by: Session (its thread), Recovery (through Lifecycle).
#pragma once
#include <thread>

#include "executor/journal/journal.h"
#include "lifecycle.h"

namespace jitc {

class Backpressure;
class BoundaryMaker;
class Checkpoints;
class OpIssuer;
class Replay;
class Shared;
class StepGate;

/// What the dispatcher gives ops to.
struct OpTakers {
  OpIssuer& issuer;
  Backpressure& backpressure;
  Replay& replay;
  Checkpoints& checkpoints;
  StepGate& gate;
  BoundaryMaker& boundaries;
};

class Dispatcher {
 public:
  Dispatcher(Shared& shared, const OpTakers& takers) : shared_(shared), to_(takers) {}

  void start();
  /// After Lifecycle::stop.
  void join();
  bool is_this_thread() const { return std::this_thread::get_id() == thread_.get_id(); }

 private:
  void loop();
  bool has_work() const;
  void run_ops();
  bool take(const RecordHeader& record);
  bool dispatch(const RecordHeader& record);
  void park();

  Shared& shared_;
  const OpTakers to_;
  std::thread thread_;
};

}  // namespace jitc
