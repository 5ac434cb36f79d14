// Queue and thread of a stream; see stream.h.
//
// The hand-off is built for few cores: the thread takes the whole queue at once, so a burst of tasks costs
// one wake-up; before it sleeps it looks a few microseconds longer, as the next task is mostly near.
#include "stream.h"

#include <pthread.h>

#include <algorithm>

namespace jitc::software {
namespace {
constexpr int kSpins = 100;
constexpr size_t kReportEvery = 64;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}
}  // namespace

Stream::~Stream() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  condition_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Stream::push(Task task) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(task));
    ++given_;
    available_.store(true, std::memory_order_relaxed);
    wake = asleep_;
    if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
  }
  if (wake) condition_.notify_one();
}

void Stream::note(uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  if (queue_.empty() && !busy_)
    runner_.report(handle_, sequence);
  else
    noted_ = sequence;
}

bool Stream::take(std::vector<Task>& batch) {
  batch.clear();
  for (int i = 0; i < kSpins && !available_.load(std::memory_order_relaxed); ++i) relax();
  std::unique_lock lock(mutex_);
  asleep_ = true;
  condition_.wait(lock, [this] { return !queue_.empty() || closing_; });
  asleep_ = false;
  batch.swap(queue_);
  available_.store(false, std::memory_order_relaxed);
  busy_ = !batch.empty();
  return busy_;
}

/// Reports before the last task counts as over, so that nothing is reported once the device is fenced.
void Stream::finish_batch(uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  const bool dry = queue_.empty();
  busy_ = !dry;
  if (runner_.running()) runner_.report(handle_, dry ? std::max(sequence, noted_) : sequence);
}

void Stream::run_batch(const std::vector<Task>& batch) {
  for (size_t i = 0; i < batch.size(); ++i) {
    const Task& task = batch[i];
    const uint64_t sequence = task.op->sequence;
    const bool collective = task.op->op == static_cast<uint16_t>(ops::OpId::collective);
    running_.store(sequence << 1 | (collective ? 1 : 0), std::memory_order_relaxed);
    if (runner_.running())
      runner_.run(task);
    else
      runner_.drop(task);
    running_.store(0, std::memory_order_relaxed);
    const bool last = i + 1 == batch.size();
    const bool event = task.op->op == static_cast<uint16_t>(ops::OpId::event_record);
    if (last)
      finish_batch(sequence);
    else if ((event || i % kReportEvery == kReportEvery - 1) && runner_.running())
      runner_.report(handle_, sequence);
    finished_->fetch_add(1);
    runner_.over();
  }
}

void Stream::loop() {
  pthread_setname_np(pthread_self(), "jitc-stream");
  std::vector<Task> batch;
  while (take(batch)) run_batch(batch);
}

}  // namespace jitc::software
