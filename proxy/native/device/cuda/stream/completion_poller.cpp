// See completion_poller.h.
#include "completion_poller.h"

#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>

#include "device/cuda/driver/error.h"

namespace jitc::cuda {
namespace {
constexpr auto kLookEvery = std::chrono::milliseconds(5);
constexpr uint32_t kSpins = 4;  // rounds of kPauses before it sleeps
constexpr int kPauses = 200;    // some microseconds
constexpr std::chrono::microseconds kShortNap{20}, kLongestShortNap{200};  // with a waiting thread
constexpr std::chrono::microseconds kLongestNap{1000};                     // without one

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}
}  // namespace

CompletionPoller::CompletionPoller(std::shared_ptr<Context> context, ExecutionSink& sink, Watcher& watcher,
                                   double hang_seconds)
    : sink_(sink),
      doorbell_(sink.progress_doorbell()),
      watcher_(watcher),
      hang_seconds_(hang_seconds),
      context_(std::move(context)),
      words_(std::make_shared<Words>(context_)),
      thread_([this] { loop(); }) {}

CompletionPoller::~CompletionPoller() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    work_.notify_all();
    doorbell_.ring();
  }
  thread_.join();
}

CompletionPoller::Pointer CompletionPoller::timeline(uint64_t handle, abi::CUstream real) {
  return std::make_shared<StreamTimeline>(handle, real, words_);
}

// -- submitted work ------------------------------------------------------------------------------------

void CompletionPoller::given(const Pointer& timeline, const ops::OpHeader& op) {
  timeline->given_ = op.sequence;
  if (!timeline->unmarked_) timeline->first_ = op.sequence;
  timeline->collective_ |= op.op == static_cast<uint16_t>(ops::OpId::collective);
  if (++timeline->unmarked_ >= mark_every_) mark(timeline);
}

void CompletionPoller::note(const Pointer& timeline, uint64_t sequence) {
  timeline->given_ = sequence;
  if (timeline->unmarked_) return;  // the next mark covers it
  {
    const std::lock_guard lock(mutex_);
    if (!timeline->marks_.empty()) {
      timeline->marks_.back().sequence = sequence;
      return;
    }
    if (timeline->handed_out_) {  // must not be overtaken
      timeline->marks_.push_back({timeline->issued_, sequence, sequence, false});
      return;
    }
  }
  sink_.progress(timeline->handle_, sequence);
}

uint64_t CompletionPoller::mark(const Pointer& timeline) {
  if (!timeline->unmarked_) return timeline->issued_;
  const Driver& driver = context_->driver();
  const uint64_t value = timeline->issued_ + 1;
  check(driver, "cuStreamWriteValue64",
        driver.cuStreamWriteValue64(timeline->real_, timeline->word_.device, value, abi::kWriteValueDefault));
  const std::lock_guard lock(mutex_);
  timeline->issued_ = value;
  timeline->marks_.push_back({value, timeline->first_, timeline->given_, timeline->collective_});
  timeline->unmarked_ = 0;
  timeline->collective_ = false;
  list(timeline);
  return value;
}

/// Requires the mutex.
void CompletionPoller::list(const Pointer& timeline) {
  if (timeline->listed_) return;
  timeline->listed_ = true;
  busy_.push_back(timeline);
  if (busy_.size() == 1) work_.notify_one();
}

void CompletionPoller::after(const Pointer& timeline, uint64_t value, Completion completion) {
  {
    const std::lock_guard lock(mutex_);
    if (timeline->reported_ < value) {
      auto place = timeline->waiting_.end();
      while (place != timeline->waiting_.begin() && std::prev(place)->value > value) --place;
      results_due_ += completion.sequence != 0;
      timeline->waiting_.insert(place, {value, std::move(completion)});
      doorbell_.ring();
      return;
    }
  }
  completion.give(sink_);
}

void CompletionPoller::keep(const Pointer& timeline, Pinned memory) {
  after(timeline, timeline->unmarked_ ? timeline->issued_ + 1 : timeline->issued_,
        {0, 0, std::move(memory), {}});
}

bool CompletionPoller::idle(const StreamTimeline& timeline) const {
  return !timeline.unmarked_ && reached(timeline, timeline.issued_);
}

bool CompletionPoller::reached(const StreamTimeline& timeline, uint64_t value) const {
  const std::lock_guard lock(mutex_);
  return timeline.reported_ >= value;
}

/// Returns the oldest work. NCCL reports no progress: a rank in a collective counts as having contributed.
std::optional<UnderWay> CompletionPoller::under_way() const {
  const std::lock_guard lock(mutex_);
  std::optional<UnderWay> oldest;
  for (const Pointer& timeline : busy_) {
    // The words may be ahead of the deliveries.
    const uint64_t reached = timeline->reached();
    const auto mark = std::find_if(timeline->marks_.begin(), timeline->marks_.end(),
                                   [&](const StreamTimeline::Mark& one) { return one.value > reached; });
    if (mark != timeline->marks_.end() && (!oldest || mark->first < oldest->sequence))
      oldest = {mark->first, mark->collective, mark->value, mark->collective};
  }
  return oldest;
}

// -- waiting -------------------------------------------------------------------------------------------

bool CompletionPoller::wait_all(Deadline end) {
  Lock lock(mutex_);
  const auto over = [this] { return busy_.empty() || !open_; };
  ++waiters_;
  doorbell_.ring();
  const bool all = end ? changed_.wait_until(lock, *end, over) : (changed_.wait(lock, over), true);
  --waiters_;
  return all && open_;
}

bool CompletionPoller::wait_some() {
  Lock lock(mutex_);
  const uint64_t before = deliveries_;
  changed_.wait(lock, [&] { return deliveries_ != before || busy_.empty() || !open_; });
  return open_ && deliveries_ != before;
}

void CompletionPoller::close() {
  const std::lock_guard lock(mutex_);
  open_ = false;
  work_.notify_all();
  doorbell_.ring();
  changed_.notify_all();
}

void CompletionPoller::reset() {
  Lock lock(mutex_);
  changed_.wait(lock, [this] { return !delivering_; });
  for (const Pointer& timeline : busy_) timeline->listed_ = false;
  busy_.clear();
  results_due_ = 0;
  oldest_ = nullptr;
}

void CompletionPoller::forget(StreamTimeline& timeline) {
  std::deque<StreamTimeline::Waiting> dropped;  // their memory returns to its pool without the mutex
  const std::lock_guard lock(mutex_);
  dropped.swap(timeline.waiting_);
  timeline.marks_.clear();
  timeline.reported_ = timeline.issued_;
  timeline.unmarked_ = 0;
  timeline.collective_ = false;
}

void CompletionPoller::open() {
  const std::lock_guard lock(mutex_);
  open_ = true;
}

// -- the thread ----------------------------------------------------------------------------------------

void CompletionPoller::loop() {
  pthread_setname_np(pthread_self(), "jitc-poller");
  prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);  // makes naps as short as requested
  Lock lock(mutex_);
  uint32_t rounds = 0;
  while (!stop_) {
    if (busy_.empty() || !open_) {
      work_.wait(lock, [this] { return stop_ || (!busy_.empty() && open_); });
      looked_ = Clock::now();
      rounds = 0;
    } else {
      if (deliver(lock))
        rounds = 0;
      else
        nap(lock, rounds++);
      look_after(lock);
    }
  }
}

/// Reads the words. Work on one stream waits for work on others, and the words are read one after the other:
/// a stream may be seen past a wait, and the awaited one not yet there. A second look sees all work before
/// what the first one saw. If no thread waits between the two, the first one suffices. Holds the mutex, so
/// that no waiter is added meanwhile.
void CompletionPoller::look() {
  for (const Pointer& timeline : busy_) timeline->look();
  for (bool more = true; more;) {
    more = false;
    for (const Pointer& timeline : busy_) more |= timeline->look_again();
    if (!more) return;
    for (const Pointer& timeline : busy_) timeline->seen_ = timeline->newer_;
  }
}

bool CompletionPoller::deliver(Lock& lock) {
  std::vector<Delivery> deliveries;
  look();
  for (const Pointer& timeline : busy_)
    if (Delivery due; timeline->collect(due)) {
      due.timeline = timeline;
      for (const Completion& one : due.completions) results_due_ -= one.sequence != 0;
      deliveries.push_back(std::move(due));
    }
  if (deliveries.empty()) return false;
  delivering_ = true;
  lock.unlock();
  hand_out(deliveries);
  lock.lock();
  for (const Delivery& delivery : deliveries) delivery.timeline->was_told(delivery.value);
  std::erase_if(busy_, [](const Pointer& timeline) {
    // Deliveries may have added a wait that is already due.
    const bool due = !timeline->waiting_.empty() && timeline->waiting_.front().value <= timeline->reported_;
    return timeline->marks_.empty() && !due && (timeline->listed_ = false, true);
  });
  delivering_ = false;
  ++deliveries_;
  changed_.notify_all();
  return true;
}

/// Delivers results in the order of their ops, which work never runs against; then all streams' progress.
void CompletionPoller::hand_out(std::vector<Delivery>& deliveries) {
  std::vector<const Completion*> due;
  for (const Delivery& delivery : deliveries)
    for (const Completion& completion : delivery.completions) due.push_back(&completion);
  std::ranges::stable_sort(due, {}, &Completion::sequence);
  for (const Completion* const completion : due) completion->give(sink_);
  for (Delivery& delivery : deliveries) {
    delivery.completions.clear();
    if (delivery.sequence) sink_.progress(delivery.timeline->handle_, delivery.sequence);
  }
}

void CompletionPoller::nap(Lock& lock, uint32_t rounds) {
  const uint32_t rings = doorbell_.rings();
  const bool awaited = waiters_ != 0 || results_due_ != 0 || doorbell_.is_awaited();
  if (awaited && rounds < kSpins) {
    lock.unlock();
    for (int i = 0; i < kPauses; ++i) relax();
    lock.lock();
    return;
  }
  const auto length = std::min(awaited ? kLongestShortNap : kLongestNap, kShortNap * (1 + rounds / 4));
  lock.unlock();
  doorbell_.nap(rings, length);
  lock.lock();
}

void CompletionPoller::look_after(Lock& lock) {
  const auto now = Clock::now();
  if (now - looked_ < kLookEvery || !open_ || stop_) return;
  looked_ = now;
  delivering_ = true;
  lock.unlock();
  watcher_.look();
  lock.lock();
  if (open_ && !stop_) check_hang(lock);
  delivering_ = false;
  changed_.notify_all();
}

/// Checks the oldest outstanding mark: work waits only for earlier work, so this one waits for none.
void CompletionPoller::check_hang(Lock& lock) {
  const auto older = [](const Pointer& a, const Pointer& b) {
    return a->marks_.front().first < b->marks_.front().first;
  };
  const auto unmarked = [](const Pointer& timeline) { return timeline->marks_.empty(); };
  const bool nothing = busy_.empty() || std::ranges::any_of(busy_, unmarked);
  if (hang_seconds_ <= 0 || nothing) return;
  const Pointer timeline = *std::min_element(busy_.begin(), busy_.end(), older);
  const StreamTimeline::Mark mark = timeline->marks_.front();
  const auto now = Clock::now();
  if (timeline.get() != oldest_ || mark.value != oldest_value_) {
    oldest_ = timeline.get();
    oldest_value_ = mark.value;
    oldest_since_ = now;
    return;
  }
  if (std::chrono::duration<double>(now - oldest_since_).count() < hang_seconds_) return;
  lock.unlock();
  watcher_.hung(mark.first, mark.collective);
  lock.lock();
}

}  // namespace jitc::cuda
