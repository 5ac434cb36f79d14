// Communicators of one session: table, creation, splits, collectives, fence and restore.
//
// Creating and splitting wait for other ranks in the communicators' keepers; the dispatcher waits only for a
// collective on a communicator that is not ready: in replay, and right after a restore.
// Called by: Device; all but interrupt(), abort_all(), find(), quiet(), wait_quiet() and abort_coming() by
// one thread at a time.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "collective_call.h"
#include "communicator.h"
#include "device/aspects.h"

namespace jitc::cuda {

class Communicators final : public Aborts {
 public:
  Communicators(std::string nccl_path, ExecutionSink& sink, CommunicatorSegments& segments,
                CommunicatorHost& host, double hang_seconds);
  ~Communicators();

  // Called in sequence order. Throw OpError, Abandoned.
  void create(const ops::CommunicatorCreate& op);
  void split(const ops::CommunicatorSplit& op);
  void destroy(const ops::CommunicatorDestroy& op);
  void end(const ops::CommunicatorAbort& op);
  /// Makes NCCL release its collectives now: the op is queued. Any thread.
  void abort_coming(const ops::CommunicatorAbort& op) override;
  using Redirect = std::function<std::vector<ops::CollectiveItem>(const CollectiveCall&)>;
  /// Returns when the collectives lie on the stream. redirect: gives the items other operands once all
  /// communicators are ready; none: they stay.
  void collective(const ops::Collective& op, NcclStream stream, const Redirect& redirect = {});

  /// Injects a fault: this rank leaves the op's communicators as a lost rank does.
  void cut(const ops::Collective& op);

  bool find(uint64_t handle, Identity& out) const;
  /// Returns whether no op owes a result any more.
  bool quiet() const;
  /// Waits until quiet(), or until interrupt().
  bool wait_quiet(std::optional<std::chrono::steady_clock::time_point> end = {});

  /// Ends the waits of collective() until resume(). Any thread.
  void interrupt();
  /// Aborts what exists of NCCL after a fence, which frees threads that it blocks. Does not wait. Any thread.
  void abort_all();
  /// Aborts everything of NCCL. False if something does not return in time: then the process must end.
  /// Afterwards the same communicators exist, not joined.
  bool fence(std::chrono::milliseconds limit);
  /// Requires a fenced device.
  void restore(const std::vector<Identity>& wanted);
  /// Lets the restored communicators be joined.
  void resume();

 private:
  using Pointer = std::shared_ptr<Communicator>;
  void check_new(uint64_t handle) const;
  void add(uint64_t handle, const Pointer& communicator);
  Pointer get(uint64_t handle) const;
  void remove(uint64_t handle, const Pointer& communicator);
  void reap();

  CommunicatorContext context_;
  mutable std::mutex mutex_;  // guards what follows
  std::unordered_map<uint64_t, Pointer> table_;
  std::vector<Pointer> gone_;     // out of the table, keepers may still run
  std::vector<Pointer> waiting_;  // restored, not started
};

}  // namespace jitc::cuda
