// Backpressure: a client that does not read is sent nothing more to read.
//
// Results lie in the journal, so they cost no memory of the worker; the bound is on the bytes that wait for
// one client. Promise: a client that reads is never held up for good, because the work submitted to the
// device ends without more ops, and becomes results that can be read. Called by: the dispatcher
// (wait_until_read), Delivery and the stream's writer (wake).
#pragma once
#include <atomic>

#include "jitc/generated_ops.h"

namespace jitc {

class SessionCore;

class Backpressure {
 public:
  explicit Backpressure(SessionCore& core) : core_(core) {}

  /// Notes, before the op is executed, how large its result may be.
  void promise_result(const ops::OpHeader& op, const ops::OpInfo& info);
  /// Waits until the client has read enough. Returns false if the session stops first.
  bool wait_until_read();
  /// Returns whether too many results are in flight to the client, or come from the device without more ops.
  bool too_much_unread() const;
  void wake();
  bool waits() const { return waits_; }

 private:
  SessionCore& core_;
  std::atomic<bool> waits_{false};  // the dispatcher, for the client to read
};

}  // namespace jitc
