// Order of completion: the clocks of streams, events and of the host.
//
// An op begins after its stream's earlier ops, those that the host knew to be over at its submission, and
// those of the legacy default stream or the blocking streams. Waits join more.
// Lock rule: the device's mutex. Called by: Checker, in the order of the ops.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "clock.h"

namespace jitc::software::order {

class Timeline {
 public:
  /// Start of an op: the number of its stream, and the work that is over then. Valid until the next call.
  struct Moment {
    uint32_t stream;
    const Clock& past;
  };

  void create_stream(uint64_t handle, uint32_t flags);
  void destroy_stream(uint64_t handle);
  /// Begins the next op, on that stream.
  Moment begin(uint64_t stream, uint64_t sequence);

  // Effects of an op that has begun: the event's record, a wait for its latest one.
  void record(uint64_t event, uint64_t stream);
  void wait(uint64_t event, uint64_t stream, uint64_t sequence);
  void destroy_event(uint64_t event) { events_.erase(event); }

  // Work that the host waits for, or has found to be over.
  void host_has_stream(uint64_t stream);
  void host_has_event(uint64_t event);
  void host_has_all();
  /// Notes that the host knows everything up to that op of the stream.
  void host_has(uint64_t stream, uint64_t sequence);
  /// Returns the clock that all ops submitted from now on come after.
  const Clock& host() const { return host_; }

 private:
  struct Stream {
    uint32_t number;
    bool blocking;
    uint64_t host_version = 0, newest = 0;
    Clock clock;
    /// Clocks behind ops at which it has learnt of other streams.
    std::vector<std::pair<uint64_t, Clock>> turns;
  };
  Stream& at(uint64_t handle);
  uint32_t free_number();
  bool join_legacy(uint64_t handle, Stream& stream);
  static void note_turn(Stream& stream, uint64_t sequence);
  void tell_host(const Clock& clock);

  std::unordered_map<uint64_t, Stream> streams_;
  std::unordered_map<uint64_t, Clock> events_;       // as of their latest record
  std::vector<std::pair<uint32_t, uint64_t>> left_;  // numbers of destroyed streams, their newest ops
  uint32_t numbers_ = 0;
  size_t blocking_ = 0;
  Clock host_;
  uint64_t host_version_ = 0;
};

}  // namespace jitc::software::order
