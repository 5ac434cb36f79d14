// Wakes a connection's thread, which polls its two descriptors: at once, or after a time.
//
// Called by: server_connection.cpp, from any thread. Promises: no lock; a time that is asked for while one
// runs is merged into that one.
#pragma once
#include <atomic>
#include <cstdint>

#include "common/socket.h"

namespace jitc::transport {

class Waker {
 public:
  /// Creates the descriptors. Throws std::system_error.
  Waker();
  void now();
  void after(uint64_t nanoseconds);
  int doorbell() const { return doorbell_.get(); }
  int timer() const { return timer_.get(); }
  // Resets the doorbell. Called by the thread, when it has been woken.
  void take_doorbell();
  void take_timer();

 private:
  const Descriptor doorbell_, timer_;  // an eventfd, a timerfd
  std::atomic<bool> armed_{false};
};

}  // namespace jitc::transport
