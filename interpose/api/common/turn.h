// One thread at a time makes something that needs the service; others that want the same wait for it.
//
// Used by modules and kernels, for what is made on first use. Promises: no lock is held while the thread
// whose turn it is asks the service; waiting threads sleep; a turn is given back whatever is thrown.
#pragma once
#include <condition_variable>
#include <mutex>

namespace jitc::api {

/// What turns are taken for; part of the object that is made.
struct Turns {
  bool taken = false;
};

class Turn {
 public:
  explicit Turn(Turns& turns) : turns_(turns) {
    std::unique_lock lock(shared().mutex);
    shared().changed.wait(lock, [&] { return !turns_.taken; });
    turns_.taken = true;
  }
  ~Turn() {
    const std::lock_guard lock(shared().mutex);
    turns_.taken = false;
    shared().changed.notify_all();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

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
  Turns& turns_;
};

}  // namespace jitc::api
