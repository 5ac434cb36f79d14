// A replay: ops of the journal run again, in the order that the program imposed by waiting on the host.
//
// A program that has seen a result, or the progress of a stream, may continue with another stream or reuse
// memory without any trace of that on the device. In replay no program waits. So the journal has, between the
// ops, what the client had observed before it sent the next ones (results, records of reported progress, and
// `known` ops of a client that read it in the progress page), and the dispatcher continues there only when
// the device has come that far again.
//
// Promises: a result that differs from the known one is tolerated (tolerance.h) or stops the session. This
// cannot deadlock: the device reached each point the first time with only the ops that precede the record,
// and other ranks likewise with only the ops they had then.
//
// Called by: the dispatcher (await, await_known, release_memory_after_replay), Delivery (results that come
// again), Restorer (begin) and Recovery (tolerance, reserve).
#pragma once
#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include "executor/comparison/tolerance.h"
#include "executor/journal/journal.h"
#include "jitc/generated_ops.h"

namespace jitc {

class SessionCore;

class Replay {
 public:
  explicit Replay(SessionCore& core);

  /// Begins a replay of all that is in the journal by now, once a state was restored.
  void begin();
  /// Waits before the dispatcher passes a record that is no op. Returns false if the session stops first.
  bool await(const RecordHeader& record);
  /// Waits in the same way for an op that says what the client knows.
  bool await_known(const ops::Known& op);
  /// Returns whether there is nothing to wait for.
  bool is_there(const RecordHeader& record) const;
  bool is_known(const ops::Known& op) const;
  /// Returns whether the cursor is past all that was in the journal when the state was restored.
  bool is_over() const;
  /// Notes that the replay has yielded a result that the program has.
  void result_is_there(uint64_t sequence);
  /// Compares the known result of an op with the different one of its replay.
  void compare(uint64_t sequence, uint32_t status, std::span<const std::byte> payload);
  /// Wakes the waiting dispatcher: streams have made progress.
  void wake();

  /// Reserves what the session holds on the GPU, as a recovery begins, until the replay holds it again.
  void reserve_memory();
  /// Ends the reservation with the replay. Called by the dispatcher before each op.
  void release_memory_after_replay();

  /// Returns whether the op reads bytes for the host that must be identical in every replay.
  static bool reads_what_steers(const ops::OpHeader& op);

  Tolerance tolerance;

 private:
  void fails(uint64_t sequence, const ops::OpHeader& op, uint32_t status, std::span<const std::byte> payload);
  /// Stops a replay that cannot continue. what: what the op has done.
  void astray(uint64_t sequence, const ops::OpHeader& op, const std::string& what);
  bool reached_again(const RecordHeader& record) const;

  SessionCore& core_;
  std::atomic<uint64_t> replay_end_{0};  // position in the journal
  std::atomic<bool> waits_{false};       // the dispatcher, in await()
  std::atomic<bool> memory_reserved_{false};
};

}  // namespace jitc
