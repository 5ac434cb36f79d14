// What is known to be over when: the clocks of streams, events and of the host.
//
// An op begins with what its stream had done, what the host knew when it gave the op, and what the legacy
// default stream or the blocking streams had done. Waits join more.
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
  /// When an op runs: the number of its stream, and what is over then. Valid until the next call.
  struct Moment {
    uint32_t stream;
    const Clock& past;
  };

  void create_stream(uint64_t handle, uint32_t flags);
  void destroy_stream(uint64_t handle);
  /// The next op, on that stream.
  Moment begin(uint64_t stream, uint64_t sequence);

  // An op that has begun: the event's record, a wait for its latest one.
  void record(uint64_t event, uint64_t stream);
  void wait(uint64_t event, uint64_t stream, uint64_t sequence);
  void destroy_event(uint64_t event) { events_.erase(event); }

  // What the host waits for, or has found out.
  void host_has_stream(uint64_t stream);
  void host_has_event(uint64_t event);
  void host_has_all();
  /// Everything up to that op of the stream.
  void host_has(uint64_t stream, uint64_t sequence);
  /// Nothing that is still given can run before this.
  const Clock& host() const { return host_; }

 private:
  struct Stream {
    uint32_t number;
    bool blocking;
    uint64_t host_version = 0, newest = 0;
    Clock clock;
    /// The clock behind ops at which it has learnt of other streams.
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
