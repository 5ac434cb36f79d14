// Device functions with which handlers submit ops to the GPU: look-up and checks of operands, progress and
// results, waits.
//
// Lock rule: the device's mutex, which waits release and take again. A refused op throws OpError, or
// Abandoned when a fence or fault comes first. Called by: the handlers of all families.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <span>

#include "device/common/run_state.h"
#include "device/cuda/driver/context.h"
#include "device/cuda/driver/error.h"
#include "device/cuda/memory/memory.h"
#include "device/cuda/memory/pinned.h"
#include "device/cuda/stream/streams.h"
#include "device/sink.h"
#include "jitc/generated_ops.h"

namespace jitc::cuda {

class Issuer {
 public:
  Issuer(std::mutex& mutex, const RunState& state, ExecutionSink& sink, std::shared_ptr<Context> context,
         const Memory& memory, PinnedPool& pool, CompletionPoller& poller, Streams& streams);
  Issuer(const Issuer&) = delete;
  Issuer& operator=(const Issuer&) = delete;

  const std::shared_ptr<Context>& context() const { return context_; }
  const Driver& driver() const { return context_->driver(); }
  void check(const char* what, abi::CUresult status) const { cuda::check(driver(), what, status); }
  ExecutionSink& sink() const { return sink_; }

  Stream& stream_of(const ops::OpHeader& op) const { return streams_.of(op); }
  /// Returns the range's address for the driver; throws unless ops may touch it.
  uint64_t require(const char* name, uint64_t address, uint64_t bytes) const;

  /// Notes that the op was submitted to the real stream, or to the capture that stands in for it.
  void submitted(Stream& stream, const ops::OpHeader& op) const;
  /// Does the same, and answers the op with success and so many bytes of memory when the stream reaches it.
  void submitted_with_result(Stream& stream, const ops::OpHeader& op, Pinned memory = {},
                             size_t bytes = 0) const;
  /// Passes the stream's progress over an op that needs nothing of its stream.
  void completed_synchronously(const ops::OpHeader& op) const;
  void answer(const ops::OpHeader& op, std::span<const std::byte> payload = {}) const;

  /// Waits until all submitted work has run.
  void drain();
  /// Adds a wait to drain(), for another reader of the program's memory.
  void also_drains(std::function<void()> wait) { also_ = std::move(wait); }
  /// Returns pinned memory; waits when all of it is in use.
  Pinned staging(size_t bytes);
  /// Submits deferred work before a wait for something else than this device, which continues without it
  /// (waiting.h).
  void wait_begins();
  void wait_ends() { mutex_.lock(); }
  bool running() const { return state_.running(); }

  /// Returns whether ops are issued to recreate a graph, without being reported.
  bool rebuilding() const { return rebuilding_; }
  void set_rebuilding(bool rebuilding) { rebuilding_ = rebuilding; }

 private:
  std::mutex& mutex_;
  const RunState& state_;
  ExecutionSink& sink_;
  const std::shared_ptr<Context> context_;
  const Memory& memory_;
  PinnedPool& pool_;
  CompletionPoller& poller_;
  Streams& streams_;
  std::function<void()> also_ = [] {};
  bool rebuilding_ = false;
};

}  // namespace jitc::cuda
