// Submitted work and known progress of each stream: the one place where the process keeps its knowledge of
// its device's work, from a result, a progress report, or their consequences.
//
// Called by: session_client.cpp. Promises: reading takes no lock and never waits (a watchdog queries events
// thousands of times a second); knowledge is permanent, even if the worker is lost. Writers hold the
// session's lock.
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
  /// Returns the sequence of the stream's newest work, 0: none.
  uint64_t submitted(uint64_t stream) const;
  /// Returns whether the stream has executed everything up to sequence.
  bool executed(uint64_t stream, uint64_t sequence) const;

  /// Streams not known to have executed all that was submitted to them by now.
  struct Outstanding {
    uint64_t stream, sequence;
  };
  std::vector<Outstanding> outstanding() const;

  /// Enters an op that has its number. Returns what its success will advance.
  Reach submit(const ops::OpHeader& op);
  /// Notes that all this has run, and with it the work that it had to wait for.
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
