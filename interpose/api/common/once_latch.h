// Latch on something that is made once and needs the service for it.
//
// Like std::call_once, but the next thread repeats a failed attempt. Used by module_image, kernels and
// variables, for objects made on first use. Promises: no mutex is held while the thread that holds the latch
// calls the service; waiting threads sleep. It is locked with std::lock_guard, so an exception releases it.
#pragma once
#include <condition_variable>
#include <mutex>

namespace jitc::api {

/// Latch, part of the object that is made.
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
  // Shared by all latches, since first uses are rare. Never destroyed: threads may wait at exit.
  static Shared& shared() {
    static auto& out = *new Shared;
    return out;
  }
  bool taken_ = false;
};

}  // namespace jitc::api
