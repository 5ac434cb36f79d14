// The end of the op stream: what a client's connection, or a test through the C interface, calls of a
// session.
//
// Promises: one client at a time; it hears at once how far the session is, and everything that it is owed.
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

  /// A client that has all results up to this one. Returns the newest op that the journal has. Without a
  /// sender poll() is asked. Throws Error: another client is attached.
  uint64_t attach(uint64_t results_received, std::shared_ptr<CompletionSender> sender = nullptr);
  void detach();
  bool attached() const;
  /// One message. Throws Error: it is malformed. Waits while there is no room.
  void submit(std::span<const std::byte> message);
  /// The same without a wait. False: there is no room for all of it now; it is to be submitted again, whole.
  bool try_submit(std::span<const std::byte> message);
  /// CompletionQueue::poll and take.
  int64_t poll(std::span<std::byte> out, int timeout_ms);
  int64_t take(std::span<std::byte> out);

 private:
  SessionCore& core_;
  const Parts parts_;
};

}  // namespace jitc
