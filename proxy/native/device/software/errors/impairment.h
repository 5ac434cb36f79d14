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
  enum class Kind : uint32_t { none, stall, cut, slow };

  /// sequence: the only op that feels it; 0: every op.
  void set(Kind how, uint64_t sequence = 0) {
    sequence_.store(sequence);
    kind_.store(how);
  }
  void clear() { set(Kind::none); }
  /// Returns whether the op never ends.
  bool stalls(uint64_t sequence) const { return feels(Kind::stall, sequence); }
  /// Throws OpError where the link is cut.
  void require_link() const;
  /// Waits where the link is slow. The wait is far shorter than those that an abort has to interrupt.
  void linger() const;

 private:
  bool feels(Kind how, uint64_t sequence) const {
    if (kind_.load(std::memory_order_acquire) != how) return false;
    const uint64_t only = sequence_.load(std::memory_order_relaxed);
    return !only || only == sequence;
  }

  std::atomic<Kind> kind_{Kind::none};
  std::atomic<uint64_t> sequence_{0};
};

}  // namespace jitc::software
