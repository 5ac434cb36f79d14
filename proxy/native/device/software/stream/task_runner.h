// Device functions for streams: whether a task may run, running it, and counting the remaining ones.
//
// Lock rule: atomics; any thread. Called by: streams, Issuer, Device.
#pragma once
#include <atomic>
#include <cstdint>

#include "device/common/run_state.h"
#include "device/common/turns/residency.h"
#include "device/software/errors/failures.h"
#include "stream.h"
#include "wait_hub.h"

namespace jitc::software {

class TaskRunner final : public Runner {
 public:
  /// crew: used once there are tasks.
  TaskRunner(ExecutionSink& sink, const RunState& state, Failures& failures, Residency& residency,
             WaitHub& hub, Crew& crew)
      : sink_(sink), state_(state), failures_(failures), residency_(residency), hub_(hub), crew_(crew) {}

  /// Pushes a task to the stream. here: the calling thread may run it, if it is the stream's turn.
  void push(Stream& stream, Task task, bool here = false);
  /// Returns whether no task is left.
  bool idle() const { return pending_.load() == 0; }
  /// Completes the record and answers the ops that wait for it.
  void finish(Record& record);

  // Runner
  bool running() const override { return state_.running(); }
  bool may_start(const Task& task) const override;
  void run(const Task& task) override;
  void drop(const Task& task) override;
  void report(uint64_t stream, uint64_t sequence) override { sink_.progress(stream, sequence); }
  void over() override;

 private:
  ExecutionSink& sink_;
  const RunState& state_;
  Failures& failures_;
  Residency& residency_;
  WaitHub& hub_;
  Crew& crew_;
  std::atomic<uint64_t> pending_{0};  // tasks on streams
};

}  // namespace jitc::software
