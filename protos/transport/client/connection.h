// A call on a socket: moves bytes between the call's state machine and the kernel, never blocks.
//
// Called by: stream.cpp (under its lock), api.cpp (unary calls). Promise: when the peer has hung up,
// everything that it sent is delivered first; then the call ends as UNAVAILABLE.
#pragma once
#include <chrono>
#include <memory>

#include "call.h"
#include "common/socket.h"

namespace jitc::transport {

using Clock = std::chrono::steady_clock;

class Connection {
 public:
  Connection(Descriptor socket, Request request, const jitc_stream_callbacks& callbacks);
  ~Connection();
  Call& call() { return call_; }
  int fd() const { return socket_.get(); }
  /// Sends as much as the socket takes. Returns true if something was sent.
  bool pump_out();
  /// Reads what has arrived. Returns true if whole messages were delivered or the call ended.
  bool pump_in();
  /// Returns true if the socket took no more: call pump_out once it is writable.
  bool blocked() const { return blocked_; }
  /// Shuts the connection down for both sides, even if a forked child still holds the socket.
  void shut_down();
  Clock::time_point last_heard() const { return last_heard_; }

 private:
  bool flush();

  Descriptor socket_;
  Call call_;
  Outgoing out_;
  std::unique_ptr<uint8_t[]> in_;
  bool blocked_ = false, broken_ = false;
  Clock::time_point last_heard_ = Clock::now();
};

}  // namespace jitc::transport
