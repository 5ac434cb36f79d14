// Handlers of communicators and collectives, and their access to the device.
// Called by: Device::enqueue through its registry, Device; with its mutex held and the context bound.
#pragma once
#include <atomic>
#include <chrono>
#include <string>

#include "communicators.h"
#include "device/backend_options.h"
#include "device/common/handlers.h"
#include "device/cuda/graph/captures.h"
#include "device/cuda/issue/issuer.h"
#include "staging.h"

namespace jitc::cuda {

class CollectiveHandlers final : public CommunicatorHost {
 public:
  CollectiveHandlers(Issuer& issuer, RunState& state, const Memory& memory, Residency& residency,
                     const Captures& captures, CommunicatorSegments& segments, const BackendOptions& options)
      : issuer_(issuer),
        state_(state),
        memory_(memory),
        residency_(residency),
        captures_(captures),
        staging_(issuer.context()),
        hang_seconds_(options.given.hang_seconds),
        communicators_(options.libraries.path("nccl"), issuer.sink(), segments, *this,
                       options.given.hang_seconds) {}
  Communicators& communicators() { return communicators_; }
  const Communicators& communicators() const { return communicators_; }

  /// Injects a fault: this rank takes no part in the collective of that sequence, until a fence.
  void skip(uint64_t sequence) { skipped_ = sequence; }
  /// Same as Communicators::fence.
  bool fence(std::chrono::milliseconds limit);

  /// Returns the sequence of the collective that the dispatcher's thread is at, 0: none. Any thread.
  uint64_t at() const { return at_.load(); }

  // CommunicatorHost
  void enter_context() override { issuer_.check("cuCtxSetCurrent", issuer_.context()->bind()); }
  bool allocated(uint64_t address, uint64_t bytes, uint64_t) const override {
    return memory_.contains(address, bytes) || staging_.contains(address, bytes);
  }
  /// Releases the mutex: the poller must be able to check the GPU, and a fence to arrive.
  void wait_begins() override { issuer_.wait_begins(); }
  void wait_ends() override { issuer_.wait_ends(); }
  void communicator_fault(uint64_t sequence, uint32_t status, const char* cause,
                          const std::string& message) override {
    state_.fault(sequence, status, cause, "a communicator: " + message);
  }

 private:
  void create(const ops::CommunicatorCreate& op);
  void split(const ops::CommunicatorSplit& op);
  void destroy(const ops::CommunicatorDestroy& op);
  void end(const ops::CommunicatorAbort& op);
  void run(const ops::Collective& op);
  void run_elsewhere(const ops::Collective& op, Stream& stream);
  void come_back(Residency::Outside& outside);
  void await(const Stream& stream);

  Issuer& issuer_;
  RunState& state_;
  const Memory& memory_;
  Residency& residency_;
  const Captures& captures_;
  Staging staging_;
  const double hang_seconds_;
  std::atomic<uint64_t> at_{0};
  uint64_t skipped_ = 0;  // the collective in which this rank must not take part
  Communicators communicators_;

 public:
  using Handled =
      HandlerList<&CollectiveHandlers::create, &CollectiveHandlers::split, &CollectiveHandlers::destroy,
                  &CollectiveHandlers::end, &CollectiveHandlers::run>;
};

}  // namespace jitc::cuda
