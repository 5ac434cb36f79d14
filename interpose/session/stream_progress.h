// What was submitted to each stream and how far each has come.
//
// Called by: session_client.cpp. Promises: reading takes no lock and never waits (a watchdog queries events
// thousands of times a second); values never go back. Writers hold the session's lock.
//
// A hash table that only grows. A full one is replaced by one of twice the size; the old one is kept
// until the end, because a reader may still be in it (all old ones together are smaller than the newest).
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace jitc::runtime {

class StreamProgress {
 public:
  StreamProgress();
  /// Sequence of the last op submitted to the stream, 0: none.
  uint64_t submitted(uint64_t stream) const;
  /// Whether the stream has executed everything up to sequence.
  bool executed(uint64_t stream, uint64_t sequence) const;

  void submit(uint64_t stream, uint64_t sequence);
  void advance(uint64_t stream, uint64_t sequence);
  /// Every stream has executed everything up to sequence.
  void advance_all(uint64_t sequence);

 private:
  struct Entry {
    std::atomic<uint64_t> key{0};  // stream + 1; 0: free
    std::atomic<uint64_t> submitted{0}, executed{0};
  };
  struct Table {
    explicit Table(size_t size) : mask(size - 1), entries(std::make_unique<Entry[]>(size)) {}
    size_t mask, used = 0;
    std::unique_ptr<Entry[]> entries;
  };

  static Entry* slot(const Table& table, uint64_t key);
  const Entry* find(uint64_t stream) const;
  Entry& entry(uint64_t stream);
  void grow();

  std::vector<std::unique_ptr<Table>> tables_;
  std::atomic<Table*> current_;
  std::atomic<uint64_t> everywhere_{0};
};

}  // namespace jitc::runtime
