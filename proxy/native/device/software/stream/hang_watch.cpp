// See hang_watch.h.
#include "hang_watch.h"

#include <pthread.h>

#include <chrono>

namespace jitc::software {
namespace {
constexpr int kLooks = 8;  // in the time that is tolerated
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;
}  // namespace

HangWatch::HangWatch(double seconds, std::function<std::optional<Running>()> oldest,
                     std::function<void(Running)> hung)
    : seconds_(seconds), oldest_(std::move(oldest)), hung_(std::move(hung)) {
  if (seconds_ > 0) thread_ = std::thread([this] { loop(); });
}

HangWatch::~HangWatch() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopping_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void HangWatch::loop() {
  pthread_setname_np(pthread_self(), "jitc-hangs");
  uint64_t sequence = 0, part = 0;
  Clock::time_point since = Clock::now();
  std::unique_lock lock(mutex_);
  while (!stopping_.wait_for(lock, Seconds(seconds_ / kLooks), [this] { return stop_; })) {
    lock.unlock();
    const auto running = oldest_();
    const auto now = Clock::now();
    if (restarted_.exchange(false) || !running || running->sequence != sequence || running->part != part) {
      sequence = running ? running->sequence : 0;
      part = running ? running->part : 0;
      since = now;
    } else if (Seconds(now - since).count() >= seconds_) {
      hung_(*running);
      since = now;
    }
    lock.lock();
  }
}

}  // namespace jitc::software
