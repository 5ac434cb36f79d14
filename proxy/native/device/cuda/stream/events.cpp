// See events.h.
#include "events.h"

#include "device/cuda/driver/error.h"

namespace jitc::cuda {

void Events::create(uint64_t handle, uint64_t flags) {
  if (events_.contains(handle)) refuse_handle("event " + hex(handle) + " exists already");
  events_.emplace(handle, std::make_shared<Event>(context_, flags));
}

void Events::destroy(uint64_t handle) {
  if (events_.erase(handle) == 0) refuse_handle("event " + hex(handle) + " does not exist");
}

const Events::Pointer& Events::at(uint64_t handle) const {
  const auto found = events_.find(handle);
  if (found == events_.end()) refuse_handle("event " + hex(handle) + " does not exist");
  return found->second;
}

/// Restores events as recorded: their state is not known any more, but all earlier work is done.
void Events::restore(const std::vector<Resources::Event>& wanted) {
  const Driver& driver = context_->driver();
  std::unordered_map<uint64_t, Pointer> old;
  old.swap(events_);
  for (const Resources::Event& one : wanted) {
    const auto found = old.find(one.handle);
    Pointer event = found != old.end() && found->second->flags() == one.flags
                        ? found->second
                        : std::make_shared<Event>(context_, one.flags);
    if (!event->recorded) {
      check(driver, "cuEventRecord", driver.cuEventRecord(event->real(), nullptr));
      event->recorded = event->stands_in = true;
    }
    event->timeline = nullptr;
    events_.emplace(one.handle, std::move(event));
  }
}

}  // namespace jitc::cuda
