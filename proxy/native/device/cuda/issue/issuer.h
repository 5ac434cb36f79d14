// What the handlers of ops need of the device to give an op to the GPU: operands looked up and checked,
// progress and results, waits.
//
// Lock rule: the device's mutex, which waits release and take again. What may not succeed throws OpError, or
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
  /// Where the driver has the range; throws unless ops may touch it.
  uint64_t require(const char* name, uint64_t address, uint64_t bytes) const;

  /// The op was given to the real stream, or to the capture that stands in for it.
  void submitted(Stream& stream, const ops::OpHeader& op) const;
  /// The same, and the op is answered with success, and with bytes of memory, when the stream gets there.
  void submitted_with_result(Stream& stream, const ops::OpHeader& op, Pinned memory = {},
                             size_t bytes = 0) const;
  /// The op needs nothing of its stream, but the stream's progress must still pass it.
  void completed_synchronously(const ops::OpHeader& op) const;
  void answer(const ops::OpHeader& op, std::span<const std::byte> payload = {}) const;

  /// Until all that was given has run.
  void drain();
  /// What else reads memory of the program, and is waited for by drain().
  void also_drains(std::function<void()> wait) { also_ = std::move(wait); }
  /// Pinned memory; waits when all of it is in use.
  Pinned staging(size_t bytes);
  /// A wait for something else than this device: what has been put off is due, the device goes on without
  /// (waiting.h).
  void wait_begins();
  void wait_ends() { mutex_.lock(); }
  bool running() const { return state_.running(); }

  /// Ops are issued to make a graph again: nobody is told of them.
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
