// State shared by the parts of a session: its request, its stores, its streams, and its counters.
//
// Promises: each member says who may change it. State of the dispatcher alone may be used by commands while
// the dispatcher is parked. Called by: Session, which makes it, and the parts that Session holds.
#pragma once
#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/shared/board.h"
#include "base/shared/gpu_turn.h"
#include "base/shared/memory_budget.h"
#include "device/backend.h"
#include "executor/boundary/snapshot.h"
#include "executor/core/boundary_times.h"
#include "executor/core/lifecycle.h"
#include "executor/core/session_types.h"
#include "executor/journal/journal.h"
#include "executor/results/completion_queue.h"
#include "executor/results/progress.h"
#include "executor/results/results.h"
#include "executor/state/images.h"
#include "executor/state/pinned_memory.h"
#include "executor/state/resources.h"

namespace jitc {

/// Positions and counts: one writer each, read by any thread.
struct alignas(64) Counters {
  // Written by the stream's reader.
  std::atomic<uint64_t> received{0};           // newest op in the journal
  std::atomic<uint64_t> boundary_received{0};  // newest boundary op in the journal
  // Written by the dispatcher, for every op as the reader does: not into the same cache line.
  alignas(64) std::atomic<uint64_t> cursor{0};  // position in the journal
  std::atomic<uint64_t> dispatched{0};          // newest op submitted to the back end
  std::atomic<uint64_t> ops_executed{0};
  std::atomic<uint64_t> steering_reads{0};
  std::atomic<uint64_t> last_boundary{0};   // with Lifecycle::mutex held
  std::atomic<uint64_t> prepared{0};        // the same, without those that were skipped since
  std::atomic<uint64_t> own_boundaries{0};  // the number of those that this worker has made between ops
  std::atomic<uint64_t> committed{0};
};

/// Ops submitted to the back end. Owned by the dispatcher.
struct alignas(64) Issued {
  explicit Issued(ImageStore& images) : table(images) {}

  ResourceTable table;
  bool quiet = true;            // all of it has run: FinishStep can continue from the cursor
  bool in_step = false;         // between an optimizer step's begin and its boundary
  bool behind_barrier = false;  // that step began when all ranks had come to it
  uint32_t step_waits = 0, step_collectives = 0, step_allocations = 0;
};

class SessionCore {
 public:
  SessionCore(const SessionRequest& request, const DeviceOptions& options, Host& host);

  bool runs() const { return life.runs(); }
  /// Stops the session, which cannot continue, and reports why to the service. Any thread.
  void fault(uint64_t sequence, uint32_t status, std::string_view cause, std::string_view message);
  /// Fences the session: nothing runs on the back end any more. Releases the lock meanwhile: the back end's
  /// threads may be about to report a fault.
  void stop_backend(Lifecycle::Lock& lock);
  /// Starts a fenced session. Requires Lifecycle::mutex.
  void start();
  /// Prints a line for the user in the program's output. Any thread.
  void notice(const std::string& text);
  /// Repeats to a client that has just attached what it missed, and how the session ended. Requires
  /// Lifecycle::mutex.
  void repeat_notices(bool with_end);
  JobSlot& slot() const { return board.job.slot(request.slot); }

  const SessionRequest request;
  const DeviceOptions options;
  Host& host;
  Journal journal;
  Board board;
  const std::shared_ptr<BoardBudget> budget;
  const std::shared_ptr<GpuTurn> turn;  // none: the system has no locks for it
  Snapshot snapshot;
  PinnedMemory pinned;
  ImageStore images;
  std::unique_ptr<Backend> backend;  // made by Session, once
  Results results;
  Progress progress;
  CompletionQueue completions;
  Lifecycle life;
  Counters at;
  Issued issued;
  BoundaryTimes times;
  std::atomic<bool> journal_full{false};  // the dispatcher is to make room, at the price of protection

 private:
  std::vector<std::string> notices_;  // for the next client; with Lifecycle::mutex held
};

}  // namespace jitc
