// See later.h.
#include "later.h"

#include <pthread.h>

#include <utility>

namespace jitc::software {

Later::Later() : thread_([this] { loop(); }) {}

Later::~Later() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Later::at(Clock::time_point time, Action action) {
  const std::lock_guard lock(mutex_);
  const auto added = actions_.emplace(time, std::move(action));
  if (added == actions_.begin()) changed_.notify_all();
}

void Later::drop() {
  std::unique_lock lock(mutex_);
  actions_.clear();
  changed_.wait(lock, [this] { return !runs_; });
}

void Later::loop() {
  pthread_setname_np(pthread_self(), "jitc-shuffle");
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (actions_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto first = actions_.begin();
    if (const auto time = first->first; Clock::now() < time) {
      changed_.wait_until(lock, time);
      continue;
    }
    const Action action = std::move(first->second);
    actions_.erase(first);
    runs_ = true;
    lock.unlock();
    action();
    lock.lock();
    runs_ = false;
    changed_.notify_all();
  }
}

}  // namespace jitc::software
