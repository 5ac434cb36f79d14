// A client that does not read is given nothing more to read.
//
// Results lie in the journal, so they cost no memory of the worker; what is bounded is how many bytes wait
// for one client. Promise: a client that reads is never held up for good, for what was given to the device
// ends without more ops, and becomes results that can be read. Called by: the dispatcher (wait_until_read),
// Delivery and the stream's writer (wake).
#pragma once
#include <atomic>

#include "jitc/generated_ops.h"

namespace jitc {

class SessionCore;

class Backpressure {
 public:
  explicit Backpressure(SessionCore& core) : core_(core) {}

  /// Before the op is executed: notes how much its result may be.
  void promise_result(const ops::OpHeader& op, const ops::OpInfo& info);
  /// False when the session stops first.
  bool wait_until_read();
  /// Results that are on the way to the client, and those that the device will give without more ops.
  bool too_much_unread() const;
  void wake();
  bool waits() const { return waits_; }

 private:
  SessionCore& core_;
  std::atomic<bool> waits_{false};  // the dispatcher, for the client to read
};

}  // namespace jitc
