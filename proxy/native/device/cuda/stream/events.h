// Events of one session by virtual handle.
//
// Lock rule: the device's mutex. All throw OpError. Called by: the handlers of events, Captures, Device.
#pragma once
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "device/resources.h"
#include "stream.h"

namespace jitc::cuda {

class Events {
 public:
  /// Shared with those that wait for the event.
  using Pointer = std::shared_ptr<Event>;

  explicit Events(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  void create(uint64_t handle, uint64_t flags);
  void destroy(uint64_t handle);
  const Pointer& at(uint64_t handle) const;
  /// Makes exactly these. Requires an idle device.
  void restore(const std::vector<Resources::Event>& wanted);

 private:
  const std::shared_ptr<Context> context_;
  std::unordered_map<uint64_t, Pointer> events_;
};

}  // namespace jitc::cuda
