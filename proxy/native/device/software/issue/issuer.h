// Device functions for the handlers of ops: the op's stream, tasks for it, progress, results, waits.
//
// Lock rule: the device's mutex. A refused op throws OpError, or Abandoned when a fence or fault comes first.
// Called by: the handlers of all families; the work of tasks only answers.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "device/sink.h"
#include "device/software/stream/streams.h"
#include "device/software/stream/task_runner.h"
#include "device/software/stream/wait_hub.h"
#include "jitc/generated_ops.h"

namespace jitc::software {

class Issuer {
 public:
  Issuer(ExecutionSink& sink, WaitHub& hub, Streams& streams, TaskRunner& runner)
      : sink_(sink), hub_(hub), streams_(streams), runner_(runner) {}
  Issuer(const Issuer&) = delete;
  Issuer& operator=(const Issuer&) = delete;

  ExecutionSink& sink() const { return sink_; }
  Stream& stream_of(const ops::OpHeader& op) const { return streams_.of(op); }
  /// Work of an op of a graph, which its launch runs.
  struct Collected {
    const ops::OpHeader* op;
    std::function<void()> work;
  };
  /// Collects queued work here instead of on streams, until it is called with nullptr.
  void collect(std::vector<Collected>* into) { collected_ = into; }
  /// Queues the work on the op's stream. The record must stay valid until then.
  void queue(const ops::OpHeader& op, std::function<void()> work) const { queue(op, std::move(work), false); }
  /// Does the same for work that is over before another thread wakes up.
  void queue_short(const ops::OpHeader& op, std::function<void()> work) const {
    queue(op, std::move(work), true);
  }
  void push(Stream& stream, Task task) const;
  /// Passes the stream's progress over an op that needs nothing of its stream.
  void completed_synchronously(const ops::OpHeader& op) const { streams_.note(op); }
  /// Answers the op; also from the work of tasks.
  void answer(const ops::OpHeader& op, std::span<const std::byte> payload = {}) const;
  /// Waits until all queued work has run.
  void drain() const;

 private:
  void queue(const ops::OpHeader& op, std::function<void()> work, bool here) const;

  ExecutionSink& sink_;
  WaitHub& hub_;
  Streams& streams_;
  TaskRunner& runner_;
  std::vector<Collected>* collected_ = nullptr;
};

}  // namespace jitc::software
