// Hub through which threads of a device wait for each other.
//
// Promise: a waiter sees every change that is announced after the change was stored (with seq_cst order), and
// is released at once when waits are given up. Announcing costs one atomic load while no thread waits.
// Called by: streams, events, Device.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>

namespace jitc::software {

class WaitHub {
 public:
  using Limit = std::optional<std::chrono::milliseconds>;
  /// Waits until done() holds (true), or waits are given up or the time is over (false). done() is called
  /// with the hub locked.
  template <class Predicate>
  bool wait(Predicate done, Limit limit = {}) {
    return wait_until([&] { return done() || given_up_; }, done, limit);
  }
  bool given_up() {
    const std::lock_guard lock(mutex_);
    return given_up_;
  }
  /// Waits as wait() does, but continues although waits are given up.
  template <class Predicate>
  void wait_always(Predicate done) {
    wait_until(done, done, {});
  }
  void changed() {
    if (waiters_.load() == 0) return;
    {
      const std::lock_guard lock(mutex_);
    }
    condition_.notify_all();
  }
  void give_up() {
    {
      const std::lock_guard lock(mutex_);
      given_up_ = true;
    }
    condition_.notify_all();
  }
  void reset() {
    const std::lock_guard lock(mutex_);
    given_up_ = false;
  }

 private:
  template <class Enough, class Predicate>
  bool wait_until(Enough enough, Predicate done, Limit limit) {
    waiters_.fetch_add(1);
    std::unique_lock lock(mutex_);
    if (limit)
      condition_.wait_for(lock, *limit, enough);
    else
      condition_.wait(lock, enough);
    waiters_.fetch_sub(1);
    return done();
  }

  std::mutex mutex_;
  std::condition_variable condition_;
  std::atomic<int> waiters_{0};
  bool given_up_ = false;
};

}  // namespace jitc::software
