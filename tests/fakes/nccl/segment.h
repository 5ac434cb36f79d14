// Memory that the ranks of a communicator share, and waiting in it. It is an anonymous file of the process
// that made the unique id, which the others open through /proc: so nothing is left behind, whoever dies, and
// a unique id whose maker is gone cannot be joined. Promises: every wait ends when `aborted` is set and
// wake() called.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "abi.h"

namespace jitc::fakes {

/// What a rank tells the others. `phase` counts the steps of exchanges that it has made.
struct RankSlot {
  std::atomic<uint32_t> joined, aborted;
  int process;
  uint64_t host;
  char bus[32];
  std::atomic<uint64_t> phase;
  uint64_t signature;
};

/// Bytes on their way from one rank to another.
struct Channel {
  static constexpr size_t kBytes = 64 << 10;
  std::atomic<uint64_t> written, read;
  std::byte bytes[kBytes];
};

class Segment {
 public:
  static constexpr size_t kExchangeBytes = 256 << 10;
  static ncclUniqueId make();
  /// Null: the unique id is not good (any more), or others joined with another number of ranks.
  static std::unique_ptr<Segment> open(const ncclUniqueId& id, int ranks);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  RankSlot& slot(int rank) { return slots_[rank]; }
  std::byte* exchange(int rank) { return exchange_ + static_cast<size_t>(rank) * kExchangeBytes; }
  Channel& channel(int from, int to) { return channels_[from * ranks_ + to]; }

  /// Called while a rank waits, again and again.
  std::function<void()> look = [] {};

  /// Tells every rank that something changed.
  void wake();
  /// False: aborted.
  bool wait(const std::atomic<bool>& aborted, const std::function<bool()>& reached);

 private:
  Segment(void* start, size_t size, int ranks);
  struct Header;
  Header* const header_;
  const size_t size_;
  const int ranks_;
  RankSlot* const slots_;
  std::byte* const exchange_;
  Channel* const channels_;
};

}  // namespace jitc::fakes
