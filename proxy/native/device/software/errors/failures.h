// Outcome of a failing op: its result (ops that wait), else the device's fault.
//
// Lock rule: none, any thread. Called by: Device::enqueue, TaskRunner, Communicators.
#pragma once
#include <exception>
#include <string>

#include "device/common/run_state.h"
#include "error.h"
#include "jitc/generated_ops.h"

namespace jitc::software {

class Failures {
 public:
  Failures(ExecutionSink& sink, RunState& state) : sink_(sink), state_(state) {}

  /// Runs work for the op and reports its failure.
  template <class Work>
  void guard(const ops::OpHeader& op, Work&& work) {
    try {
      work();
    } catch (const OpError& error) {
      fail(op, error);
    } catch (const Abandoned&) {
    } catch (const std::exception& error) {
      fail(op, {kMemoryAllocation, "host-error", std::string("the worker failed: ") + error.what()});
    }
  }
  /// Marks the device faulted from this op on, even if it waits for a result.
  void fault(uint64_t sequence, const OpError& error) {
    state_.fault(sequence, error.status, error.cause, error.message);
  }

 private:
  void fail(const ops::OpHeader& op, const OpError& error);

  ExecutionSink& sink_;
  RunState& state_;
};

}  // namespace jitc::software
