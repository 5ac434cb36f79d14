// See group.h.
#include "group.h"

#include <utility>

namespace jitc::fakes {

Group& Group::of_thread() {
  static thread_local Group group;
  return group;
}

void Group::add(const CommunicatorPointer& communicator, void* stream, const Operation& operation) {
  for (Pending& each : pending_)
    if (each.communicator == communicator && each.stream == stream)
      return each.operations.push_back(operation);
  pending_.push_back({communicator, stream, {operation}});
}

int Group::end() {
  if (depth_ == 0) return kNcclInvalidUsage;
  if (--depth_ > 0) return kNcclSuccess;
  const int error = std::exchange(error_, 0);
  int result = error ? error : launch_all();
  pending_.clear();
  for (const CommunicatorPointer& each : std::exchange(awaited_, {}))
    if (const int failed = each->wait_idle(); failed && !result) result = failed;
  return result;
}

int Group::launch_all() {
  int result = kNcclSuccess;
  std::vector<Pending> later;
  for (Pending& each : pending_) {
    const CommunicatorPointer communicator = each.communicator;
    if (communicator->blocking) {
      const int failed = communicator->launch(each.stream, std::move(each.operations));
      if (failed) result = failed;
      continue;
    }
    if (!result) result = kNcclInProgress;
    later.push_back(std::move(each));
  }
  launch_later(std::move(later));
  return result;
}

/// Of communicators that must not block: by one thread, in the order of calls, as on every other rank.
void Group::launch_later(std::vector<Pending> pending) {
  if (pending.empty()) return;
  for (const Pending& each : pending) each.communicator->hold_state();
  Communicator* const first = pending.front().communicator.get();
  // The job must not own the communicator whose thread runs it.
  for (Pending& each : pending)
    if (each.communicator.get() == first) each.communicator = {CommunicatorPointer(), first};
  first->start([pending = std::move(pending)] {
    for (const Pending& each : pending)
      each.communicator->release_state(each.communicator->launch(each.stream, each.operations));
    return 0;
  });
}

}  // namespace jitc::fakes
