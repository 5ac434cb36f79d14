// Drives the I/O of a bidirectional call.
//
// Called by: api.cpp. A waiting thread drives the I/O itself (the leader), so that a synchronous round trip
// needs no hop between threads. Other waiting threads (followers) sleep; they are woken when messages arrive,
// and one of them takes over when the leader leaves. When no thread waits, one background thread drives the
// I/O: it sleeps in the kernel, and producers wake it only if it has announced that it sleeps.
//
// Locks: io_ guards everything, is held for one turn of I/O, never across a sleep. Callbacks run under it.
#pragma once
#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "connection.h"

namespace jitc::transport {

class Stream {
 public:
  using Done = int (*)(void*);

  Stream(Descriptor socket, Request request, const jitc_stream_callbacks& callbacks);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int send(const jitc_bytes* parts, size_t count);
  int wait(Done done, void* context, int timeout_ms);
  bool asleep() const { return asleep_.load(std::memory_order_seq_cst); }
  void wake();

 private:
  using Lock = std::unique_lock<std::mutex>;
  enum class Turn { quiet, sent, over };

  void start_thread();
  static void* thread_main(void* self);
  void background();
  Turn background_turn(bool readable);
  bool background_sleep(const timespec* limit);

  int wait_locked(Lock& lock, Done done, void* context, Clock::time_point deadline);
  void lead(Lock& lock, Done done, void* context, Clock::time_point deadline);
  void check_silence(Clock::time_point led_since);
  Clock::time_point silence_limit(Clock::time_point led_since) const;
  bool somebody_waits() const { return leader_ || followers_ > 0; }
  void watch_socket();

  std::mutex io_;
  std::condition_variable changed_;
  bool ending_ = false, leader_ = false;
  int followers_ = 0;
  const std::chrono::milliseconds ping_after_, dead_after_;
  Clock::time_point pinged_{};  // the last PING

  Descriptor poller_, doorbell_;  // epoll on the socket and on the eventfd that wakes the background thread
  uint32_t watched_ = 0;          // what epoll watches on the socket
  std::atomic<bool> asleep_{false};
  bool has_thread_ = false;
  pthread_t thread_{};
  Connection connection_;
};

}  // namespace jitc::transport
