// A replay: ops of the journal run again, in the order that the program imposed by waiting on the host.
//
// A program that has seen a result, or the progress of a stream, may go on with another stream or reuse
// memory with nothing on the device that says so. In replay nobody waits. So the journal has, between the
// ops, what the client had observed before it sent the next ones (results, records of reported progress, and
// `known` ops of a client that read it in the progress page), and the dispatcher goes on there only when the
// device has got there again.
//
// Promises: a result that differs from the known one is tolerated (tolerance.h) or stops the session. This
// cannot deadlock: the device reached each point the first time with only the ops that precede the record,
// and other ranks likewise with only what they had then.
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

  /// A state was restored: what is in the journal by now is replayed.
  void begin();
  /// Before the dispatcher passes a record that is no op. False when the session stops first.
  bool await(const RecordHeader& record);
  /// The same of an op that says what the client knows.
  bool await_known(const ops::Known& op);
  /// Whether there is nothing to wait for.
  bool is_there(const RecordHeader& record) const;
  bool is_known(const ops::Known& op) const;
  /// The cursor is past all that was in the journal when the state was restored.
  bool is_over() const;
  /// A result that the program has is there again.
  void result_is_there(uint64_t sequence);
  /// The known result of an op differs from what its replay gave.
  void compare(uint64_t sequence, uint32_t status, std::span<const std::byte> payload);
  /// Streams have made progress.
  void wake();

  /// A recovery begins: what the session holds on the GPU stays its own until the replay holds it again.
  void reserve_memory();
  /// For the dispatcher before each op: the reservation ends with the replay.
  void release_memory_after_replay();

  /// Whether the op reads bytes for the host that no replay may give otherwise.
  static bool reads_what_steers(const ops::OpHeader& op);

  Tolerance tolerance;

 private:
  void fails(uint64_t sequence, const ops::OpHeader& op, uint32_t status, std::span<const std::byte> payload);
  /// This replay cannot go on: what the op has done.
  void astray(uint64_t sequence, const ops::OpHeader& op, const std::string& what);
  bool reached_again(const RecordHeader& record) const;

  SessionCore& core_;
  std::atomic<uint64_t> replay_end_{0};  // position in the journal
  std::atomic<bool> waits_{false};       // the dispatcher, in await()
  std::atomic<bool> memory_reserved_{false};
};

}  // namespace jitc
