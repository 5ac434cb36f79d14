// Types that go in and out of a session beside its ops: requests, replies, options, and its interface to its
// process.
//
// Used by: session.h and its files, executor.h (who makes sessions), messages.h (JSON of all this).
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/shuffle.h"
#include "base/tally.h"
#include "device/aspects.h"
#include "device/backend_options.h"
#include "device/services.h"
#include "device/sink.h"
#include "executor/boundary/boundary_state.h"
#include "executor/comparison/tolerance.h"
#include "executor/comparison/validation.h"
#include "executor/faults/injector.h"
#include "executor/journal/journal.h"
#include "executor/state/images.h"
#include "executor/state/pinned_memory.h"
#include "jitc/generated_options.h"

namespace jitc {

/// A session's interface to the process that it lives in.
class Host {
 public:
  virtual ~Host() = default;
  /// Joins a communicator. superseded: the session is at another epoch by now, or about to end.
  virtual CommunicatorSegment join(uint64_t session, const std::array<uint8_t, 128>& unique_id,
                                   uint32_t ranks, uint32_t rank, uint64_t epoch) = 0;
  /// Reports a fault to the node service on another thread: does not block.
  virtual void report_fault(uint64_t session, uint64_t sequence, uint32_t status, std::string cause,
                            std::string message) = 0;
  /// Reports ops without an order between them, in the same way.
  virtual void report_race(uint64_t session, const Race& race) = 0;
  /// Fires an injected fault, unless the device does; does not return if that kills the process.
  virtual void fire(const Fault& fault, const std::string& detail) = 0;
};

struct SessionRequest {
  uint64_t session = 0;
  std::string token;  // that its client names it by
  uint32_t slot = 0;
  Journal::Place journal, spill;
  std::string snapshot_path, board_path;
  uint64_t snapshot_bytes = 0, address_base = 0, address_bytes = 0, epoch = 0;
  bool rebuild = false;
  bool guest = false;  // its own GPU is another one
  PinnedMemory::Place pinned;
};

struct DeviceOptions {
  std::string device;  // "software" or "cuda"
  uint32_t gpu = 0;    // index: sessions on it share the limit
  uint64_t memory_limit = 0;
  int threads = 1;
  WorkerOptions given;
  Shuffle shuffle;  // what is put off
  Libraries libraries;
  int ordinal = 0;  // of the cuda device
  ImageStore::Place images;
  bool poison = false;  // fill what is not restored with a pattern, so that its use shows
};

struct Position {
  uint64_t committed = 0, prepared = 0, reached = 0, begun = 0, executed = 0, received = 0;
  std::vector<uint64_t> reserves;  // boundaries that can be restored without a peer
  RankHistory history;             // of what belongs with which boundaries of other ranks
};

struct RecoverReply {
  bool complete = true;
  std::string message;
  uint64_t bytes = 0;
  std::vector<LiveRow> missing;
  bool direct_path = false;  // blocks can come from, and go to, another worker's device without the host
  Tally tally;               // what its communicators have done at the session's current position
};

struct Transfer {
  uint64_t address = 0, bytes = 0, offset = 0;
  Hash hash{};  // zeros: not checked
};

/// Blocks that go directly to, or come directly from, another worker's device.
struct DirectTransferRequest {
  uint64_t epoch = 0;  // of the recovery that wants it
  std::string path;
  uint64_t path_bytes = 0;
  uint32_t timeout_ms = 0;
  std::vector<Transfer> blocks;  // the offsets do not matter
};

struct SessionStats {
  uint64_t session, ops_executed, executed, received, journal_bytes, boundary, committed, memory_used,
      memory_total, snapshot_bytes, snapshot_held, unread_bytes;
  std::string state, policy;
  bool protected_, held_back;
  std::map<std::string, double> phases;  // seconds of phases_of boundaries and steps (boundary_times.h)
  uint64_t phases_of;
  uint64_t hashed_bytes, copied_bytes;  // of live blocks, in these phases
  uint64_t validating;                  // the step that is waited for; 0: none
  Verdict verdict;
  std::vector<uint64_t> reserves;  // boundaries
  double reserve_seconds;          // to make one, on the average
  Tolerance::Seen differences;     // of results, in the newest replay
  UnderWay under_way;              // on the device; sequence 0: nothing
  TurnsTaken turns;
  bool will_go_on;          // it waits for other ranks, and not for long
  uint64_t uncommitted;     // boundaries that are kept and belong with none of other ranks so far
  bool uneven;              // its steps do not correspond to those of its peers
  uint64_t steering_reads;  // since the first boundary: copies to the host that are no floating-point numbers
};

}  // namespace jitc
