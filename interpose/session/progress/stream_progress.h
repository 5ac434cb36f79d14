// What was given to each stream, and how far each is known to have come: the one place where the process
// keeps what it was told of its device's work, by a result, by a report of progress, or by what follows from
// them.
//
// Called by: session_client.cpp. Promises: reading takes no lock and never waits (a watchdog queries events
// thousands of times a second); what was known once is known for good, whatever becomes of the worker.
// Writers hold the session's lock.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "session/lookup_table.h"
#include "stream_order.h"

namespace jitc::session {

class StreamProgress {
 public:
  /// Sequence of the newest work that the stream was given, 0: none.
  uint64_t submitted(uint64_t stream) const;
  /// Whether the stream has executed everything up to sequence.
  bool executed(uint64_t stream, uint64_t sequence) const;

  /// The streams that are not known to have executed all that they were given by now.
  struct Outstanding {
    uint64_t stream, sequence;
  };
  std::vector<Outstanding> outstanding() const;

  /// The op has got its number. Returns what is to be advanced when it succeeds.
  Reach submit(const ops::OpHeader& op);
  /// All this has run, and with it what it had to wait for.
  void advance(const Reach& reach);

 private:
  struct Sequences {
    std::atomic<uint64_t> submitted{0}, executed{0};
    void carry(const Sequences& from);
    bool forgotten() const { return false; }
  };
  static constexpr size_t kFirst = 256;  // a program with PyTorch's stream pools has 65 to 130
  static uint64_t key_of(uint64_t stream) { return stream + 1; }
  void advance_stream(uint64_t stream, uint64_t sequence);

  LookupTable<Sequences> streams_{kFirst};
  std::atomic<uint64_t> everywhere_{0};
  StreamOrder order_;
  std::vector<Reach> due_;  // to be advanced; empty between calls
};

}  // namespace jitc::session
