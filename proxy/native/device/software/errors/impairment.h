// Injected faults and their effect on ops: an op that never ends, a link that is cut or slow.
//
// There is one object per place where ops pass: the device (every op; hangs.h), and each communicator (every
// round of its collectives). Another kind of fault is another Kind here, with its name in Aspects. Lock rule:
// none, any thread. Called by: Aspects (set), Hangs and Communicator.
#pragma once
#include <atomic>
#include <cstdint>

namespace jitc::software {

class Impairment {
 public:
  enum class Kind : uint32_t { none = 0, stall = 1, cut = 2, slow = 4 };

  /// Adds a kind to those that are felt from now on.
  void set(Kind how) { kinds_.fetch_or(static_cast<uint32_t>(how)); }
  /// Adds a stall: the op of this sequence never ends.
  void stall_at(uint64_t sequence) {
    stalled_.store(sequence);
    set(Kind::stall);
  }
  void clear() { kinds_.store(0); }
  /// Returns whether the op never ends.
  bool stalls(uint64_t sequence) const {
    return feels(Kind::stall) && stalled_.load(std::memory_order_relaxed) == sequence;
  }
  /// Throws OpError where the link is cut.
  void require_link() const;
  /// Waits where the link is slow. The wait is far shorter than those that an abort has to interrupt.
  void linger() const;

 private:
  bool feels(Kind how) const { return kinds_.load(std::memory_order_acquire) & static_cast<uint32_t>(how); }

  std::atomic<uint32_t> kinds_{0};
  std::atomic<uint64_t> stalled_{0};
};

}  // namespace jitc::software
