// A latch on something that is made once and needs the service for it.
//
// Like std::call_once, but an attempt that failed is made again by the next thread. Used by module_image,
// kernels and variables, for what is made on first use. Promises: no mutex is held while the thread that
// holds the latch asks the service; waiting threads sleep. It is locked with std::lock_guard, so an exception
// gives it back.
#pragma once
#include <condition_variable>
#include <mutex>

namespace jitc::api {

/// Part of the object that is made.
class OnceLatch {
 public:
  OnceLatch() = default;
  OnceLatch(const OnceLatch&) = delete;
  OnceLatch& operator=(const OnceLatch&) = delete;

  void lock() {
    std::unique_lock lock(shared().mutex);
    shared().changed.wait(lock, [&] { return !taken_; });
    taken_ = true;
  }
  void unlock() {
    const std::lock_guard lock(shared().mutex);
    taken_ = false;
    shared().changed.notify_all();
  }

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
  };
  // First uses are rare: one for all will do. Never destroyed, threads may wait at exit.
  static Shared& shared() {
    static auto& out = *new Shared;
    return out;
  }
  bool taken_ = false;
};

}  // namespace jitc::api
