// A client's connection to the server: a socket, a thread that reads it, and the threads that send.
//
// Called by: server.cpp (its life), server_api.cpp (the functions of jitc_call). The thread carries out the
// client's actions, in order and without the lock. A thread that wakes the connection sends by itself; where
// another thread has the lock, that one checks again after releasing it. Bytes that the socket does not take
// are left to the connection's thread, which also ends a connection that is without a call for too long.
//
// Locks: io_ guards the call and the socket's writing side; it is never held across a wait, nor in begin,
// message or closed; next is called with it.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "accepted_call.h"
#include "common/socket.h"
#include "waker.h"

namespace jitc::transport {

class ServerConnection : public std::enable_shared_from_this<ServerConnection> {
 public:
  /// Opens the connection. owner: is woken when the connection has ended. Throws std::system_error.
  ServerConnection(Descriptor socket, std::string method, const jitc_server_callbacks& callbacks,
                   Waker& owner);
  ~ServerConnection();
  ServerConnection(const ServerConnection&) = delete;
  ServerConnection& operator=(const ServerConnection&) = delete;

  void start();
  /// Ends the connection; its thread ends soon.
  void shut_down();
  void join();
  bool finished() const { return finished_.load(); }
  /// Returns whether it has no call now, and has not been turned away.
  bool stranger() const { return current_ == 0 && !broken_; }
  void turn_away();

  // Functions of a call, by its number, which later calls do not have.
  void wake(uint64_t call);
  void wake_after(uint64_t nanoseconds);
  void pause(uint64_t call, bool paused);
  void finish(uint64_t call, int status, const std::string& text);

 private:
  using Clock = std::chrono::steady_clock;
  /// Bytes of messages that are not acknowledged yet, and whether that waits for the callee.
  struct Held {
    bool paused = false;
    size_t bytes = 0;
  };

  static size_t next(void* self, jitc_bytes* parts, size_t capacity);

  void serve();
  bool wait_for_work();
  int time_left() const;
  bool read_socket();
  void carry_out(const Event& event);
  void begin_call();
  void refuse(int status, const std::string& text);
  void deliver(std::span<const uint8_t> bytes);
  void end_call();
  void finish_turn();
  void send_wanted();
  void pump_out();
  bool flush();

  const Descriptor socket_;
  const std::string method_;
  const jitc_server_callbacks callbacks_;
  Waker& owner_;
  Waker waker_;
  std::unique_ptr<uint8_t[]> in_;

  std::mutex io_;
  AcceptedCall call_;
  Outgoing out_;
  std::atomic<uint64_t> current_{0};  // number of the call that is accepted, 0: none
  Held held_;

  std::atomic<bool> wanted_{false}, blocked_{false}, broken_{false}, finished_{false};

  // State of the connection's thread.
  void* user_ = nullptr;
  Clock::time_point without_call_ = Clock::now();  // begin of the time without a call
  uint64_t calls_ = 0;
  Assembler assembler_;
  std::vector<Event> events_;
  std::thread thread_;
};

}  // namespace jitc::transport
