// Order between a session's work: which other work must have run when some has.
//
// CUDA orders streams by events and by the legacy default stream. A program that knows that a piece of work
// has run may therefore rely on more than that stream: on all that the work had to wait for, on any stream.
// This class sees all ops in the order of their numbers, which is the order in which the device sees them,
// and notes where a stream waits for another one.
//
// Called by: StreamProgress, under the session's lock. Promises: it holds for any device that keeps CUDA's
// order (protos/ops/traits.py says which ops are work of their stream); it does not cover work that is only
// captured; its memory is bounded by the work that has not run yet, and by the number of events.
#pragma once
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "jitc/generated_ops.h"

namespace jitc::session {

/// All work of some streams up to a sequence number. 0: nothing.
struct Reach {
  enum class Of : uint8_t { stream, legacy_and_blocking, device };
  Of of = Of::stream;
  uint64_t stream = 0, sequence = 0;
};

class StreamOrder {
 public:
  /// Relation of a numbered op to its stream, and what its success will show.
  struct Place {
    bool is_work = false;  // its stream has something to run
    Reach shows;
  };
  /// Places an op that has its number. Every op of the session, in this order.
  Place place(const ops::OpHeader& op);
  /// Adds what must have run before the stream executed everything up to sequence.
  void follow(uint64_t stream, uint64_t sequence, std::vector<Reach>& also);
  /// Adds what the legacy default stream waits for: itself and all blocking streams.
  void legacy_group(uint64_t sequence, std::vector<Reach>& also);

 private:
  /// Wait: the stream's work from number `at` on runs after `before`.
  struct Wait {
    uint64_t at;
    Reach before;
  };
  /// Stream that is blocking or had to wait. legacy_seen: the legacy stream's work before that, which it
  /// waits for.
  struct Lane {
    bool blocking = false, gone = false;
    uint64_t legacy_seen = 0;
    std::deque<Wait> waits;
  };
  /// Destroyed blocking stream, and the newest work of the legacy stream that waits for it.
  struct Zombie {
    uint64_t stream, until;
  };
  /// Latest record of an event; capture: the stream on which the capture containing the record began.
  struct Record {
    uint64_t stream, sequence, capture;
  };

  void no_work(const ops::OpHeader& op);
  void work(const ops::OpHeader& op);
  void order_with_legacy(const ops::OpHeader& op);
  bool join_capture(const ops::OpHeader& op);
  Reach shown_by(const ops::OpHeader& op) const;
  uint64_t capture_of(uint64_t stream) const;
  const Record* record_of(uint64_t event) const;
  void forget_stream(uint64_t stream);

  std::unordered_map<uint64_t, Lane> lanes_;
  std::unordered_map<uint64_t, Record> records_;     // by event
  std::unordered_map<uint64_t, uint64_t> captured_;  // stream -> where its capture began
  std::vector<Zombie> zombies_;
  size_t blocking_ = 0;  // streams
  uint64_t legacy_newest_ = 0, blocking_newest_ = 0, blocking_seen_ = 0;
};

}  // namespace jitc::session
