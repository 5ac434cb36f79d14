// See task_runner.h.
#include "task_runner.h"

#include <algorithm>
#include <utility>

namespace jitc::software {

void TaskRunner::push(Stream& stream, Task task, bool here) {
  pending_.fetch_add(1);
  if (!here || !stream.try_run(task)) stream.push(std::move(task));
}

bool TaskRunner::may_start(const Task& task) const {
  if (!running()) return true;  // it is dropped
  const auto over = [](const After& after) { return after.finished->load() >= after.tickets; };
  return (!task.awaited || task.awaited->done()) && std::all_of(task.after.begin(), task.after.end(), over);
}

void TaskRunner::run(const Task& task) {
  if (task.work)
    failures_.guard(*task.op, [&] {
      const Residency::Use use(residency_);
      task.work();
    });
  if (!running()) drop(task);
}

void TaskRunner::drop(const Task& task) {
  if (task.recorded) task.recorded->finish();
}

void TaskRunner::finish(Record& record) {
  for (const uint64_t sequence : record.finish()) sink_.result(sequence, kSuccess, {});
}

/// Counts a task as over. No thread waits for single tasks at the hub: a wait for all is not woken by each.
void TaskRunner::over() {
  if (pending_.fetch_sub(1) == 1) hub_.changed();
  crew_.changed();
}

}  // namespace jitc::software
