// See held_streams.h.
#include "held_streams.h"

namespace jitc::software {
namespace {
thread_local bool op_runs = false;
}

bool HeldStreams::in_op() { return op_runs; }

bool HeldStreams::may_start(const Task& task) const {
  if (!inner_.may_start(task)) return false;
  return !running() || due(task);
}

/// Counts the time from when the op could have started. A draw is the same each time, so only delayed tasks
/// are noted.
bool HeldStreams::due(const Task& task) const {
  const auto delay = shuffle_.draw(Shuffle::Choice::start, task.op->stream, task.op->sequence);
  if (delay == Shuffle::Delay(0)) return true;
  const auto now = Later::Clock::now();
  const std::lock_guard lock(mutex_);
  const auto [entry, added] = held_.try_emplace(&task, now + delay);
  if (added) later_.at(entry->second, [this] { crew_.changed(); });
  return now >= entry->second;
}

void HeldStreams::forget(const Task& task) {
  const std::lock_guard lock(mutex_);
  held_.erase(&task);
}

void HeldStreams::run(const Task& task) {
  forget(task);
  op_runs = true;
  inner_.run(task);
  op_runs = false;
}

void HeldStreams::drop(const Task& task) {
  forget(task);
  inner_.drop(task);
}

}  // namespace jitc::software
