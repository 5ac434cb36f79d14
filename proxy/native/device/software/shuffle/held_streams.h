// Delayed streams: the next op of one starts late, while other streams continue.
//
// Promises: an op starts after all work that it depends on, as without delays, and at most Shuffle::longest()
// later; its stream keeps its order and holds no thread meanwhile; after a fence or fault nothing is delayed.
// Called by: streams, in place of the runner that it wraps; Shuffled.
#pragma once
#include <mutex>
#include <unordered_map>

#include "base/shuffle.h"
#include "device/software/stream/crew.h"
#include "device/software/stream/stream.h"
#include "later.h"

namespace jitc::software {

class HeldStreams final : public Runner {
 public:
  /// crew: that of the streams.
  HeldStreams(const Shuffle& shuffle, Runner& inner, Crew& crew, Later& later)
      : shuffle_(shuffle), inner_(inner), crew_(crew), later_(later) {}
  HeldStreams(const HeldStreams&) = delete;
  HeldStreams& operator=(const HeldStreams&) = delete;

  /// Returns whether the calling thread runs an op of a stream.
  static bool in_op();

  // Runner
  bool running() const override { return inner_.running(); }
  bool may_start(const Task& task) const override;
  bool runs_at_once() const override { return false; }
  void run(const Task& task) override;
  void drop(const Task& task) override;
  void report(uint64_t stream, uint64_t sequence) override { inner_.report(stream, sequence); }
  void over() override { inner_.over(); }

 private:
  bool due(const Task& task) const;
  void forget(const Task& task);

  const Shuffle& shuffle_;
  Runner& inner_;
  Crew& crew_;
  Later& later_;
  mutable std::mutex mutex_;
  /// Start times of delayed tasks; a task keeps its address until it is over.
  mutable std::unordered_map<const Task*, Later::Clock::time_point> held_;
};

}  // namespace jitc::software
