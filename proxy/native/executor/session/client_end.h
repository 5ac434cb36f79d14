// The client end of a session's op stream, for a client's connection, or a test through the C interface.
//
// Promises: one client at a time; it receives at once how far the session is, and everything that it is owed.
// Called by: OpStream, api.cpp; Session, at its end (detach).
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "intake.h"

namespace jitc {

class Backpressure;
class CompletionSender;
class Delivery;
class Dispatcher;
class Recovery;
class SessionCore;

class ClientEnd {
 public:
  struct Parts {
    Intake& intake;
    Delivery& delivery;
    Backpressure& backpressure;
    Recovery& recovery;
    Dispatcher& dispatcher;
  };
  ClientEnd(SessionCore& core, const Parts& parts) : core_(core), parts_(parts) {}

  /// Attaches a client that has all results up to this one. Returns the newest op that the journal has.
  /// Without a sender the caller uses poll(). Throws Error if another client is attached.
  uint64_t attach(uint64_t results_received, std::shared_ptr<CompletionSender> sender = nullptr);
  void detach();
  bool attached() const;
  /// Submits one message. Waits while there is no room. Throws Error if it is malformed.
  void submit(std::span<const std::byte> message);
  /// Submits without a wait. Returns false if there is no room for all of it: submit it again, whole.
  bool try_submit(std::span<const std::byte> message);
  /// Forwards to CompletionQueue::poll and take.
  int64_t poll(std::span<std::byte> out, int timeout_ms);
  int64_t take(std::span<std::byte> out);

 private:
  SessionCore& core_;
  const Parts parts_;
};

}  // namespace jitc
