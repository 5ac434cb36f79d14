// Handlers of events: create, record, wait, compare.
// Called by: Device::enqueue through its registry, Device; with its mutex held.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "device/common/handlers.h"
#include "device/software/issue/issuer.h"
#include "device/software/stream/event.h"

namespace jitc::software {

class EventHandlers {
 public:
  EventHandlers(const Issuer& issuer, Streams& streams, TaskRunner& runner)
      : issuer_(issuer), streams_(streams), runner_(runner) {}
  /// Returns whether the event was ever recorded. Throws OpError if it does not exist.
  bool is_recorded(uint64_t event) const { return at(event).latest != nullptr; }
  /// Makes exactly these. Requires empty queues.
  void restore(const std::vector<Resources::Event>& wanted);

 private:
  void create(const ops::EventCreate& op);
  void destroy(const ops::EventDestroy& op);
  void record(const ops::EventRecord& op);
  void wait(const ops::EventWait& op);
  void synchronize(const ops::EventSynchronize& op);
  void elapsed(const ops::EventElapsed& op);
  Event& at(uint64_t handle);
  const Event& at(uint64_t handle) const;

  const Issuer& issuer_;
  Streams& streams_;
  TaskRunner& runner_;
  std::unordered_map<uint64_t, Event> events_;

 public:
  using Handled = HandlerList<&EventHandlers::create, &EventHandlers::destroy, &EventHandlers::record,
                              &EventHandlers::wait, &EventHandlers::synchronize, &EventHandlers::elapsed>;
};

}  // namespace jitc::software
