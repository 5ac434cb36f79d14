// See completer.h.
#include "completer.h"

#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>

#include "device/cuda/driver/error.h"

namespace jitc::cuda {
namespace {
constexpr auto kLookEvery = std::chrono::milliseconds(5);
constexpr uint32_t kSpins = 4;                                 // rounds of kPauses before it sleeps
constexpr int kPauses = 200;                                   // some microseconds
constexpr auto kShortNap = std::chrono::microseconds(20);      // somebody waits for a result
constexpr auto kLongestNap = std::chrono::microseconds(1000);  // nobody does
constexpr auto kLongestShortNap = std::chrono::microseconds(200);

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}
}  // namespace

struct Completer::Delivery {
  TrackPointer track;
  std::vector<Due> due;
  uint64_t ticket = 0, sequence = 0;  // sequence 0: no progress
};

Completer::Completer(std::shared_ptr<Context> context, ExecutionSink& sink, Watcher& watcher,
                     double hang_seconds)
    : sink_(sink),
      watcher_(watcher),
      hang_seconds_(hang_seconds),
      context_(std::move(context)),
      words_(std::make_shared<Words>(context_)),
      thread_([this] { loop(); }) {}

Completer::~Completer() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    work_.notify_all();
  }
  thread_.join();
}

Completer::TrackPointer Completer::track(uint64_t handle, abi::CUstream real) {
  return std::make_shared<Track>(handle, real, words_);
}

// -- what streams are given ----------------------------------------------------------------------------

void Completer::given(const TrackPointer& track, const ops::OpHeader& op) {
  track->given_ = op.sequence;
  if (!track->unmarked_) track->first_ = op.sequence;
  track->collective_ |= op.op == static_cast<uint16_t>(ops::OpId::collective);
  if (++track->unmarked_ >= mark_every_) mark(track);
}

void Completer::note(const TrackPointer& track, uint64_t sequence) {
  track->given_ = sequence;
  if (track->unmarked_) return;  // the next mark covers it
  {
    const std::lock_guard lock(mutex_);
    if (!track->marks_.empty()) {
      track->marks_.back().sequence = sequence;
      return;
    }
    if (track->reported_ < track->issued_) {  // being delivered: it must not be overtaken
      track->marks_.push_back({track->issued_, sequence, sequence, false});
      return;
    }
  }
  sink_.progress(track->handle_, sequence);
}

uint64_t Completer::mark(const TrackPointer& track) {
  if (!track->unmarked_) return track->issued_;
  const Driver& driver = context_->driver();
  const uint64_t ticket = track->issued_ + 1;
  check(driver, "cuStreamWriteValue64",
        driver.cuStreamWriteValue64(track->real_, track->word_.device, ticket, abi::kWriteValueDefault));
  const std::lock_guard lock(mutex_);
  track->issued_ = ticket;
  track->marks_.push_back({ticket, track->first_, track->given_, track->collective_});
  track->unmarked_ = 0;
  track->collective_ = false;
  list(track);
  return ticket;
}

/// With the mutex held.
void Completer::list(const TrackPointer& track) {
  if (track->listed_) return;
  track->listed_ = true;
  busy_.push_back(track);
  if (busy_.size() == 1) work_.notify_one();
}

void Completer::after(const TrackPointer& track, uint64_t ticket, Due due) {
  {
    const std::lock_guard lock(mutex_);
    if (track->reported_ < ticket) {
      auto place = track->waiting_.end();
      while (place != track->waiting_.begin() && std::prev(place)->ticket > ticket) --place;
      results_due_ += due.sequence != 0 || due.then;
      track->waiting_.insert(place, {ticket, std::move(due)});
      if (napping_) work_.notify_one();
      return;
    }
  }
  if (due.sequence) sink_.result(due.sequence, kSuccess, {due.memory.data(), due.bytes});
  if (due.then) due.then();
}

void Completer::keep(const TrackPointer& track, Pinned memory) {
  after(track, track->unmarked_ ? track->issued_ + 1 : track->issued_, {0, 0, std::move(memory), {}});
}

bool Completer::dry(const Track& track) const { return !track.unmarked_ && reached(track, track.issued_); }

bool Completer::reached(const Track& track, uint64_t ticket) const {
  const std::lock_guard lock(mutex_);
  return track.reported_ >= ticket;
}

uint64_t Completer::oldest() const {
  const std::lock_guard lock(mutex_);
  uint64_t oldest = UINT64_MAX;
  for (const TrackPointer& track : busy_) {
    // The words know more than what has been delivered.
    const uint64_t reached = track->word_.host->load(std::memory_order_acquire);
    const auto mark = std::find_if(track->marks_.begin(), track->marks_.end(),
                                   [&](const Track::Mark& one) { return one.ticket > reached; });
    if (mark != track->marks_.end()) oldest = std::min(oldest, mark->first);
  }
  return oldest;
}

// -- waiting -------------------------------------------------------------------------------------------

bool Completer::wait_all() {
  Lock lock(mutex_);
  changed_.wait(lock, [this] { return busy_.empty() || !open_; });
  return open_;
}

bool Completer::wait_some() {
  Lock lock(mutex_);
  const uint64_t before = deliveries_;
  changed_.wait(lock, [&] { return deliveries_ != before || busy_.empty() || !open_; });
  return open_ && deliveries_ != before;
}

void Completer::close() {
  const std::lock_guard lock(mutex_);
  open_ = false;
  work_.notify_all();
  changed_.notify_all();
}

void Completer::settle() {
  Lock lock(mutex_);
  changed_.wait(lock, [this] { return !delivering_; });
  for (const TrackPointer& track : busy_) track->listed_ = false;
  busy_.clear();
  results_due_ = 0;
  oldest_ = nullptr;
}

void Completer::forget(Track& track) {
  std::deque<Track::Waiting> dropped;  // their memory goes back to its pool without the mutex
  const std::lock_guard lock(mutex_);
  dropped.swap(track.waiting_);
  track.marks_.clear();
  track.reported_ = track.issued_;
  track.unmarked_ = 0;
  track.collective_ = false;
}

void Completer::open() {
  const std::lock_guard lock(mutex_);
  open_ = true;
}

// -- the thread ----------------------------------------------------------------------------------------

void Completer::loop() {
  pthread_setname_np(pthread_self(), "jitc-completer");
  prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);  // naps are as short as they say
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
        rest(lock, rounds++);
      look_after(lock);
    }
  }
}

/// What has become due on a track. With the mutex held.
void Completer::collect(Track& track, std::vector<Delivery>& out) {
  const uint64_t reached = track.word_.host->load(std::memory_order_acquire);
  Delivery delivery;
  delivery.ticket = track.reported_;
  for (; !track.marks_.empty() && track.marks_.front().ticket <= reached; track.marks_.pop_front()) {
    delivery.ticket = track.marks_.front().ticket;
    delivery.sequence = track.marks_.front().sequence;
  }
  for (; !track.waiting_.empty() && track.waiting_.front().ticket <= delivery.ticket;
       track.waiting_.pop_front()) {
    Due& due = track.waiting_.front().due;
    results_due_ -= due.sequence != 0 || due.then;
    delivery.due.push_back(std::move(due));
  }
  if (!delivery.sequence && delivery.due.empty()) return;
  out.push_back(std::move(delivery));
}

bool Completer::deliver(Lock& lock) {
  std::vector<Delivery> deliveries;
  for (const TrackPointer& track : busy_) {
    const size_t before = deliveries.size();
    collect(*track, deliveries);
    if (deliveries.size() > before) deliveries.back().track = track;
  }
  if (deliveries.empty()) return false;
  delivering_ = true;
  lock.unlock();
  hand_out(deliveries);
  lock.lock();
  for (const Delivery& delivery : deliveries)
    delivery.track->reported_ = std::max(delivery.track->reported_, delivery.ticket);
  std::erase_if(busy_, [](const TrackPointer& track) {
    // What was delivered may have added something to wait for that is there already.
    const bool due = !track->waiting_.empty() && track->waiting_.front().ticket <= track->reported_;
    return track->marks_.empty() && !due && (track->listed_ = false, true);
  });
  delivering_ = false;
  ++deliveries_;
  changed_.notify_all();
  return true;
}

void Completer::hand_out(std::vector<Delivery>& deliveries) {
  for (Delivery& delivery : deliveries) {
    for (Due& due : delivery.due) {
      if (due.sequence) sink_.result(due.sequence, kSuccess, {due.memory.data(), due.bytes});
      if (due.then) due.then();
    }
    delivery.due.clear();
    if (delivery.sequence) sink_.progress(delivery.track->handle_, delivery.sequence);
  }
}

void Completer::rest(Lock& lock, uint32_t rounds) {
  const bool awaited = results_due_ != 0;
  if (awaited && rounds < kSpins) {
    lock.unlock();
    for (int i = 0; i < kPauses; ++i) relax();
    lock.lock();
    return;
  }
  const auto longest = awaited ? kLongestShortNap : kLongestNap;
  const auto nap = std::min<std::chrono::microseconds>(longest, kShortNap * (1 + rounds / 4));
  napping_ = !awaited;
  work_.wait_for(lock, nap);
  napping_ = false;
}

void Completer::look_after(Lock& lock) {
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

/// Work waits only for work that was given before it, so the oldest outstanding mark waits for nobody.
void Completer::check_hang(Lock& lock) {
  const auto older = [](const TrackPointer& a, const TrackPointer& b) {
    return a->marks_.front().first < b->marks_.front().first;
  };
  const bool nothing =
      busy_.empty() || std::any_of(busy_.begin(), busy_.end(),
                                   [](const TrackPointer& track) { return track->marks_.empty(); });
  if (hang_seconds_ <= 0 || nothing) return;
  const TrackPointer track = *std::min_element(busy_.begin(), busy_.end(), older);
  const Track::Mark mark = track->marks_.front();
  const auto now = Clock::now();
  if (track.get() != oldest_ || mark.ticket != oldest_ticket_) {
    oldest_ = track.get();
    oldest_ticket_ = mark.ticket;
    oldest_since_ = now;
    return;
  }
  if (std::chrono::duration<double>(now - oldest_since_).count() < hang_seconds_) return;
  lock.unlock();
  watcher_.hung(mark.first, mark.collective);
  lock.lock();
}

}  // namespace jitc::cuda
