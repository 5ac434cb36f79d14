// Handlers of events: create, record, wait, compare.
// Called by: Device::enqueue through its registry, with its mutex held.
#pragma once
#include "device/common/handlers.h"
#include "device/common/run_state.h"
#include "device/cuda/issue/issuer.h"
#include "device/cuda/stream/events.h"

namespace jitc::cuda {

class EventHandlers {
 public:
  EventHandlers(const Issuer& issuer, RunState& state, Events& events, CompletionPoller& poller)
      : issuer_(issuer), state_(state), events_(events), poller_(poller) {}

 private:
  void create(const ops::EventCreate& op);
  void destroy(const ops::EventDestroy& op);
  void record(const ops::EventRecord& op);
  void wait(const ops::EventWait& op);
  void synchronize(const ops::EventSynchronize& op);
  void elapsed(const ops::EventElapsed& op);
  /// Measures the time between two events. Any thread.
  void measure(const Event& start, const Event& end, uint64_t sequence) const;

  const Issuer& issuer_;
  RunState& state_;
  Events& events_;
  CompletionPoller& poller_;

 public:
  using Handled = HandlerList<&EventHandlers::create, &EventHandlers::destroy, &EventHandlers::record,
                              &EventHandlers::wait, &EventHandlers::synchronize, &EventHandlers::elapsed>;
};

}  // namespace jitc::cuda
