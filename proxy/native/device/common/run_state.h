// State of a device: running -> faulted (the first fault counts) or fenced -> running.
//
// Lock rule: atomic, any thread. Promise: of several faults since the last fence one is reported.
// Called by: Device and its parts.
#pragma once
#include <atomic>
#include <functional>
#include <string_view>
#include <utility>

#include "device/sink.h"

namespace jitc::device {

class RunState {
 public:
  /// stop: ends waits inside the device; called before a fault is reported.
  RunState(ExecutionSink& sink, std::function<void()> stop) : sink_(sink), stop_(std::move(stop)) {}

  bool running() const { return state_.load() == State::running; }
  bool fenced() const { return state_.load() == State::fenced; }
  void fence() { state_.store(State::fenced); }
  void run() { state_.store(State::running); }
  /// Marks the device faulted from this op on; has no effect unless it is running.
  void fault(uint64_t sequence, uint32_t status, std::string_view cause, std::string_view message) {
    State expected = State::running;
    if (!state_.compare_exchange_strong(expected, State::faulted)) return;
    stop_();
    sink_.fault(sequence, status, cause, message);
  }

 private:
  enum class State { running, faulted, fenced };

  ExecutionSink& sink_;
  const std::function<void()> stop_;
  std::atomic<State> state_{State::running};
};

}  // namespace jitc::device
