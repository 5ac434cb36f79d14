// Runs the queue of a stream; see stream.h.
//
// The hand-off is built for few cores: the thread takes the whole queue at once, so a burst of tasks costs
// one wake-up; before it leaves it polls a few microseconds longer, as the next task is mostly near.
#include "stream.h"

#include <algorithm>

namespace jitc::software {
namespace {
constexpr int kSpins = 100;
constexpr size_t kReportEvery = 64;

thread_local Stream* of_this_thread = nullptr;  // while it runs a task

bool may_stand(const ops::OpHeader& op) {
  const auto id = static_cast<ops::OpId>(op.op);
  return id == ops::OpId::collective || id == ops::OpId::graph_launch;
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}
}  // namespace

void Stream::push(Task task) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(task));
  ++given_;
  available_.store(true, std::memory_order_relaxed);
  if (!with_crew_) crew_.ready(shared_from_this());
  with_crew_ = true;
}

bool Stream::try_run(const Task& task) {
  if (!runner_.runs_at_once()) return false;
  {
    const std::lock_guard lock(mutex_);
    if (with_crew_ || !runner_.may_start(task)) return false;
    with_crew_ = busy_ = true;
    ++given_;
  }
  run_task(task, true);
  const std::lock_guard lock(mutex_);
  with_crew_ = !queue_.empty();
  if (with_crew_) crew_.ready(shared_from_this());
  return true;
}

void Stream::note(uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  if (queue_.empty() && !busy_)
    runner_.report(handle_, sequence);
  else
    noted_ = sequence;
}

/// Drops notes of ops that will be repeated.
void Stream::forget_notes() {
  const std::lock_guard lock(mutex_);
  noted_ = 0;
}

/// Takes a batch. False: there is none, and the next push hands the stream to the crew again.
bool Stream::take() {
  for (int i = 0; i < kSpins && !available_.load(std::memory_order_relaxed); ++i) relax();
  const std::lock_guard lock(mutex_);
  batch_.clear();
  at_ = 0;
  batch_.swap(queue_);
  available_.store(false, std::memory_order_relaxed);
  return with_crew_ = busy_ = !batch_.empty();
}

/// Reports before the last task counts as over, so that nothing is reported once the device is fenced.
void Stream::finish_batch(uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  const bool idle = queue_.empty();
  busy_ = !idle;
  if (runner_.running()) runner_.report(handle_, idle ? std::max(sequence, noted_) : sequence);
}

void Stream::now_runs(const ops::OpHeader& op) {
  const bool collective = op.op == static_cast<uint16_t>(ops::OpId::collective);
  part_.fetch_add(1, std::memory_order_relaxed);
  running_.store(op.sequence << 2 | (collective ? kCollective : 0), std::memory_order_relaxed);
}

void Stream::note_entered() {
  if (of_this_thread) of_this_thread->running_.fetch_or(kEntered, std::memory_order_relaxed);
}

void Stream::note_progress() {
  if (of_this_thread) of_this_thread->part_.fetch_add(1, std::memory_order_relaxed);
}

void Stream::run_task(const Task& task, bool last) {
  const uint64_t sequence = task.op->sequence;
  const bool event = task.op->op == static_cast<uint16_t>(ops::OpId::event_record);
  now_runs(*task.op);
  of_this_thread = this;
  if (runner_.running())
    runner_.run(task);
  else
    runner_.drop(task);
  of_this_thread = nullptr;
  running_.store(0, std::memory_order_relaxed);
  unreported_ = last ? 0 : sequence;
  if (last)
    finish_batch(sequence);
  else if (event || at_ % kReportEvery == kReportEvery - 1)
    report();
  finished_->fetch_add(1);
  runner_.over();
}

void Stream::report() {
  if (unreported_ && runner_.running()) runner_.report(handle_, unreported_);
  unreported_ = 0;
}

/// Reports progress before a task that waits for others: they may wait for what a program does on learning
/// it.
void Stream::run() {
  while (at_ < batch_.size() || take()) {
    const bool starts = can_start();
    if (!starts || may_stand(*batch_[at_].op)) report();
    if (!starts) return crew_.put_aside(shared_from_this());
    run_task(batch_[at_], at_ + 1 == batch_.size());
    ++at_;
  }
}

}  // namespace jitc::software
