// What was submitted to each stream and how far each has come.
//
// Called by: session_client.cpp. Promises: reading takes no lock and never waits (a watchdog queries events
// thousands of times a second); values never go back. Writers hold the session's lock.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lookup_table.h"

namespace jitc::runtime {

class StreamProgress {
 public:
  /// Sequence of the last op that the stream was given to run, 0: none.
  uint64_t submitted(uint64_t stream) const;
  /// Whether the stream has executed everything up to sequence.
  bool executed(uint64_t stream, uint64_t sequence) const;

  void submit(uint64_t stream, uint64_t sequence);
  void advance(uint64_t stream, uint64_t sequence);
  /// Every stream has executed everything up to sequence.
  void advance_all(uint64_t sequence);

 private:
  struct Sequences {
    std::atomic<uint64_t> submitted{0}, executed{0};
    void carry(const Sequences& from);
    bool forgotten() const { return false; }
  };
  static constexpr size_t kFirst = 256;  // a program with PyTorch's stream pools has 65 to 130
  static uint64_t key_of(uint64_t stream) { return stream + 1; }

  LookupTable<Sequences> streams_{kFirst};
  std::atomic<uint64_t> everywhere_{0};
};

}  // namespace jitc::runtime
