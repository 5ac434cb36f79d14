// Membership of one rank in one communicator, in one recovery epoch: meeting the others, NCCL's communicator,
// its end.
//
// Threads. Every communicator has a thread of its own, its *keeper*, from start() to its end: it meets the
// other ranks, makes NCCL's communicator, polls it for asynchronous errors, and closes it. The dispatcher's
// thread calls collectives directly (Communicators): the launch must lie on its stream before the next op of
// that stream, and only this thread ensures that without holding streams back. A launch by another thread,
// with the stream waiting for it (cuStreamWaitValue), was rejected: streams can share a hardware queue, and
// then the wait is in front of what it waits for. NCCL's communicators are non-blocking: calls return at
// once, so that a waiting thread can be interrupted.
//
// All ranks of a restored communicator wait at the bootstrap from unfence() on, and NCCL's communicator is
// made when the first of them needs it: otherwise two ranks whose first collectives are on different
// communicators would wait for each other.
//
// Promise: after abort() and left_nccl() no thread is inside NCCL with it, and none will be.
// Called by: Communicators.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "device/common/patience.h"
#include "device/cuda/driver/error.h"
#include "device/cuda/issue/waiting.h"
#include "device/cuda/nccl/nccl_bootstrap.h"
#include "device/cuda/nccl/nccl_handle.h"
#include "device/services.h"
#include "device/sink.h"

namespace jitc::cuda {

using Identity = Resources::Communicator;
using Clock = std::chrono::steady_clock;
using device::Patience;

/// Device functions that communicators need.
class CommunicatorHost {
 public:
  virtual ~CommunicatorHost() = default;
  /// Makes the device's context current for the calling thread.
  virtual void enter_context() = 0;
  /// Returns whether the op with that sequence may use the range.
  virtual bool allocated(uint64_t address, uint64_t bytes, uint64_t sequence) const = 0;
  /// Submits deferred work: the dispatcher's thread waits inside enqueue, the device continues without it.
  virtual void wait_begins() = 0;
  virtual void wait_ends() = 0;
  /// Marks the device faulted. Called by keepers, without a lock held.
  virtual void communicator_fault(uint64_t sequence, uint32_t status, const char* cause,
                                  const std::string& message) = 0;
};

struct CommunicatorContext {
  std::string nccl_path;  // opened when the first communicator is made
  ExecutionSink& sink;
  CommunicatorSegments& segments;
  CommunicatorHost& host;
  double hang_seconds;                // longer waits for others are a fault; 0: no limit
  std::atomic<bool> given_up{false};  // the dispatcher's waits end
  std::mutex mutex;
  std::condition_variable changed;  // a result was given, or none will be
};

class Communicator {
 public:
  /// Parent of a split communicator, which determines its membership.
  struct Origin {
    std::shared_ptr<Communicator> parent;
    uint64_t ticket;  // place among the splits of the parent
    ops::CommunicatorSplit op;
  };
  /// sequence: of the op that waits for the communicator, or 0.
  Communicator(CommunicatorContext& context, const Identity& identity, uint64_t sequence,
               std::optional<Origin> origin);
  ~Communicator();  // waits for the keeper
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// Starts the keeper, once. wanted: makes NCCL's communicator as soon as all ranks are present; else on
  /// demand.
  void start(bool wanted);
  /// Closes the communicator after its last op, when its work is done. abort: at once, and the op of that
  /// sequence is answered once NCCL has released it; any thread.
  void leave(uint64_t abort = 0);
  /// Returns whether work that is not on its stream yet will not be put there.
  bool ends() const { return ends_; }
  void abort();
  /// Injects a fault into a ready communicator: aborts NCCL's while the others count on it.
  void cut();
  /// Waits after abort() until NCCL has released it; false if that takes longer than `until`.
  bool left_nccl(Clock::time_point until);
  bool over() const { return over_.load() || !keeper_.joinable(); }
  bool owes_result() const { return owed_.load() != 0; }

  bool known() const { return known_.load(); }
  const Identity& identity() const { return identity_; }
  uint32_t ranks() const { return static_cast<uint32_t>(identity_.ranks); }
  uint32_t rank() const { return static_cast<uint32_t>(identity_.rank); }
  uint64_t split_ticket() { return split_tickets_++; }  // dispatcher's thread

  /// Makes it wanted and waits until it is ready. Dispatcher's thread. Throws OpError, Abandoned.
  void wait_ready();
  void wake();  // given_up has changed
  /// Returns the handle. Requires a ready communicator.
  NcclHandle& handle() { return handle_; }
  /// Notes the next collective, which is named if the communicator fails.
  void note(uint64_t sequence) { last_sequence_.store(sequence); }

 private:
  enum class Stage { starting, bootstrap, ready, failed };
  using Lock = std::unique_lock<std::mutex>;

  /// Thread function of the communicator.
  class Keeper;

  // Called on the parent by the keeper of a split one.
  NcclBootstrap& await_turn(uint64_t ticket, const Communicator& child);
  void pass_turn();

  void await_ready();
  void drop();
  void check_aborted() const;
  void check_going() const;
  void become(Stage stage, const OpError& failure);
  void fail(const OpError& error);
  void deliver(uint32_t status, std::span<const std::byte> payload);
  void tell_changed();

  CommunicatorContext& context_;
  Identity identity_;
  std::atomic<bool> known_;
  std::atomic<uint64_t> owed_;  // sequence of the waiting op, or 0
  std::optional<Origin> origin_;
  std::atomic<uint64_t> last_sequence_;
  uint64_t split_tickets_ = 0;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  Stage stage_ = Stage::starting;
  OpError failure_{};  // of failed
  bool wanted_ = false;
  bool inside_ = false;  // NCCL holds resources of it
  uint64_t splits_done_ = 0;
  std::unique_ptr<NcclBootstrap> bootstrap_;          // set once
  std::atomic<bool> leaving_, aborted_, ends_, cut_;  // set with mutex_ held

  NcclHandle handle_;  // its mutex is taken after mutex_ is released
  std::atomic<bool> over_{false};
  std::thread keeper_;
};

}  // namespace jitc::cuda
