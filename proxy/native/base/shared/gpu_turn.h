// Turns on a GPU whose sessions do not fit on it together: one session's side (decision 67).
//
// A byte of the board's file stands for each GPU. Sessions that have memory there hold a lock on it: shared,
// or alone. The kernel keeps these locks, so that it frees the lock of a worker that dies at once. Promises:
// no call waits except wait(); at no time is a session alone on a GPU while another one is there. Lock rule:
// beside(), alone() and leave() by one thread at a time, all else by any. Called by: Residency.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "node_board.h"

namespace jitc {

class GpuTurn {
 public:
  /// Opens the board's file at `path`. The session is not on the GPU yet.
  GpuTurn(const NodeBoard& board, const std::string& path, uint32_t slot, uint32_t gpu, bool guest);
  ~GpuTurn();
  GpuTurn(const GpuTurn&) = delete;
  GpuTurn& operator=(const GpuTurn&) = delete;
  /// Returns false if the system has no such locks, so that there are no turns.
  bool usable() const { return file_ >= 0; }

  /// Enters the GPU, or changes the lock on it: beside others, or alone. Returns false if others forbid it.
  bool beside() const;
  bool alone() const;
  void leave() const;

  /// Returns whether sessions share the GPU of which one is a guest: they take turns where they do not fit.
  bool has_guests() const;

  /// Returns whether the sessions were found not to fit. Cheap as long as they fit.
  bool is_crowded() const;
  void crowd() const { crowded_.store(1); }

  static constexpr uint64_t kAll = UINT64_MAX;
  struct Waiting {
    uint64_t bytes, since;
  };
  /// Requests so many bytes for this session; kAll: that all others leave. Must be repeated while it waits.
  void want(uint64_t bytes) const;
  void want_no_more() const {
    if (!left_) slot_.wants_since.store(0);
  }
  /// Returns the one of the other requesters that has waited longest.
  std::optional<Waiting> waiting() const;
  /// Returns whether no other session has wanted the turn for longer.
  bool is_next() const;
  /// Marks the session as unable to give way, or as able again.
  void stay(bool stays) const;
  /// Returns whether one of the others cannot give way.
  bool is_blocked() const;

  /// Releases the slot, which belongs to another session from now on.
  void forget() { left_.store(true); }

  /// Returns the doorbell: it changes when a session comes, leaves, wants the turn or makes progress with it.
  uint32_t doorbell() const { return doorbell_.load(); }
  void ring() const;
  /// Waits until the doorbell has changed, or for the time, if there is one.
  void wait(uint32_t seen, std::optional<std::chrono::microseconds> time) const;

 private:
  bool lock(short kind) const;
  std::vector<const NodeSlot*> others() const;

  const NodeBoard& board_;
  NodeSlot& slot_;
  std::atomic<uint32_t>&doorbell_, &crowded_;
  const uint32_t gpu_;
  int file_ = -1;
  std::atomic<bool> left_{false};
};

}  // namespace jitc
