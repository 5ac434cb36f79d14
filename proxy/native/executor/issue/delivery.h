// Delivery of a result from the back end to the client: first into the journal, delivered once, compared when
// a replay yields it again.
//
// Promises: a result that the client may see is in the journal, or is kept in memory as long as this worker
// lives; at an attach each result that is owed is queued once. Called by: Session (from back end threads and
// at an attach), OpIssuer and Restorer (results that need no device).
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

namespace jitc {

class Backpressure;
class CompletionSender;
class Replay;
class SessionCore;

class Delivery {
 public:
  Delivery(SessionCore& core, Backpressure& backpressure, Replay& replay)
      : core_(core), backpressure_(backpressure), replay_(replay) {}

  /// Takes the result of an op that has run, for the first time or again.
  void result(uint64_t sequence, uint32_t status, std::span<const std::byte> payload);
  /// Delivers the result of an op whose result was not known.
  void give(uint64_t sequence, uint32_t status, std::span<const std::byte> payload);
  /// Attaches a client that has all results up to this one. Returns false if some of what it is owed is lost.
  /// Throws Error if another client is attached.
  bool attach(uint64_t results_received, std::shared_ptr<CompletionSender> sender);

 private:
  SessionCore& core_;
  Backpressure& backpressure_;
  Replay& replay_;
  std::mutex mutex_;  // a result is added and queued, or listed at an attach: never half
};

}  // namespace jitc
