// Delays reports of the device: results of ops, and progress of streams.
//
// All reports wait in one line and so keep their order: a receiver of a report can rely on all earlier work
// of the device. A late one delays those behind it. Ops that have halves (copies, collectives) also pause
// between them. Promises: a report that is not from an op of a stream (an op answered on submission, a fault)
// is sent at once, after all waiting ones; no report is later than Shuffle::longest() after the one before
// it; after drop() no earlier report is sent. Called by: all parts of the device, in place of the executor's
// sink.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

#include "base/shuffle.h"
#include "device/progress_doorbell.h"
#include "device/sink.h"
#include "device/software/stream/wait_hub.h"
#include "jitc/generated_ops.h"
#include "later.h"

namespace jitc::software {

class LateReports final : public ExecutionSink {
 public:
  /// hub: notified when the line becomes empty.
  LateReports(const Shuffle& shuffle, ExecutionSink& sink, WaitHub& hub, Later& later)
      : shuffle_(shuffle), sink_(sink), hub_(hub), later_(later) {}
  LateReports(const LateReports&) = delete;
  LateReports& operator=(const LateReports&) = delete;

  /// Returns whether all reports have been sent.
  bool none_waits() const { return waiting_.load() == 0; }
  /// Ends pauses at once, until restart().
  void give_up();
  void restart();
  /// Drops waiting reports. Requires that no op runs.
  void drop();

  // ExecutionSink
  void result(uint64_t sequence, uint32_t status, std::span<const std::byte> payload) override;
  void progress(uint64_t stream, uint64_t sequence) override;
  void fault(uint64_t sequence, uint32_t status, std::string_view cause, std::string_view message) override;
  void injection_point(const ops::OpHeader& op, std::string_view phase) override;
  bool delivered(uint64_t sequence) const override { return sink_.delivered(sequence); }
  ProgressDoorbell& progress_doorbell() override { return sink_.progress_doorbell(); }

 private:
  using Clock = Later::Clock;
  struct Report {
    Clock::time_point due;
    std::function<void()> say;
  };
  bool wait_in_line(Shuffle::Delay delay, std::function<void()> say);
  void say_until(Clock::time_point time);
  void pause(Shuffle::Delay delay);

  const Shuffle& shuffle_;
  ExecutionSink& sink_;
  WaitHub& hub_;
  Later& later_;
  std::mutex saying_;  // held while reports of the line are sent: one at a time, in order
  std::mutex mutex_;   // guards what follows
  std::deque<Report> line_;
  std::atomic<size_t> waiting_{0};  // in the line, or being sent
  std::condition_variable pausing_;
  bool given_up_ = false;
};

}  // namespace jitc::software
