// The communicators of one session: table, creation, splits.
//
// Creating and splitting wait for other ranks, so each has a short-lived thread of its own; neither the
// dispatcher nor a stream waits for it. After restore a communicator is joined by its first collective.
// Called by: Device.
#pragma once
#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "communicator.h"
#include "device/aspects.h"
#include "device/software/memory/memory.h"

namespace jitc::software {

class Group;

class Communicators final : public Aborts {
 public:
  /// hang_seconds: waiting for other ranks' splits longer than that is an error; 0: never.
  Communicators(ExecutionSink& sink, CommunicatorSegments& segments, WaitHub& hub, double hang_seconds)
      : sink_(sink), segments_(segments), hub_(hub), hang_seconds_(hang_seconds) {}
  ~Communicators();

  // In sequence order. Throw OpError.
  void create(const ops::CommunicatorCreate& op);
  void split(const ops::CommunicatorSplit& op);
  void destroy(const ops::CommunicatorDestroy& op);
  /// The program aborts it: its result says what is not done (ending.h).
  void end(const ops::CommunicatorAbort& op);
  std::shared_ptr<Group> group(const ops::Collective& op);

  /// Runs a group, on a stream's thread. Throws OpError, Abandoned.
  void run(Group& group, const Memory& memory, const device::Residency& residency);
  /// Impairs the links of the op's communicators from this op on. Throws OpError.
  void impair(const ops::Collective& op, Impairment::Kind how);

  /// The op is on its way: the same, but it is not out of reach yet. Any thread.
  void abort_coming(const ops::CommunicatorAbort& op) override;
  /// Before what comes next: how aborts end that a replay comes to; all up to the sequence has run.
  void expect_aborts(const std::vector<KnownAbort>& aborts, uint64_t sequence) override;

  bool find(uint64_t handle, Identity& out) const;
  /// Releases every wait. Later ops need renew() or restore() first.
  void abort();
  /// After an abort: same communicators, not joined yet; results of earlier ops will not be given.
  void renew();
  void restore(const std::vector<Identity>& wanted);
  /// No op of since the last renew() or restore() waits here.
  bool quiet() const;

 private:
  using Pointer = std::shared_ptr<Communicator>;
  struct Helper {
    std::thread thread;
    std::shared_ptr<std::atomic<bool>> over;
  };
  /// What was begun between two renewals. Helpers of an earlier one may still be on their way out.
  /// No lock is held while a result is given: the sink has locks of its own, under which restore() is called.
  class Generation {
   public:
    std::atomic<int> working{0};
    /// False: it has ended, and the result must not be given.
    bool begin_delivery();
    void end_delivery();
    /// Returns when the last delivery is over; none begins afterwards.
    void end();

   private:
    std::mutex mutex_;  // the rest
    std::condition_variable delivered_;
    int deliveries_ = 0;
    bool over_ = false;
  };
  /// work gives the result's payload.
  using Work = std::function<std::vector<std::byte>()>;

  /// sequence: of the op that makes it, 0: it was there before.
  Pointer add(const Identity& identity, bool known, uint64_t sequence);
  void expect_end(Communicator& communicator, uint64_t handle, uint64_t sequence) const;
  void start_end(const ops::CommunicatorAbort& op, const Pointer& communicator);
  Pointer get(uint64_t handle) const;
  void remove(const Pointer& communicator);
  void start_join(const Pointer& communicator);
  void start(uint64_t sequence, Pointer communicator, Work work, std::function<void()> delivered = {});
  void help(const std::shared_ptr<Generation>& generation, uint64_t sequence, const Pointer& communicator,
            const Work& work, const std::function<void()>& delivered);
  void deliver(const std::shared_ptr<Generation>& generation, uint64_t sequence, uint32_t status,
               std::span<const std::byte> payload);
  void gather(Communicator& parent, const Rounds& rounds) const;
  Identity agree_on_split(const ops::CommunicatorSplit& op, Communicator& parent);
  std::vector<std::byte> join_split(const ops::CommunicatorSplit& op, Communicator& parent, uint64_t ticket,
                                    const Pointer& child);

  ExecutionSink& sink_;
  CommunicatorSegments& segments_;
  WaitHub& hub_;
  const double hang_seconds_;
  mutable std::mutex mutex_;  // table_, all_, expected_, executed_
  std::unordered_map<uint64_t, Pointer> table_;
  std::vector<std::weak_ptr<Communicator>> all_;  // destroyed ones too, while ops use them
  std::vector<KnownAbort> expected_;
  uint64_t executed_ = 0;
  mutable std::mutex counting_;  // generation_; the last one to be taken
  std::shared_ptr<Generation> generation_ = std::make_shared<Generation>();
  std::mutex starting_;  // helpers_
  std::list<Helper> helpers_;
};

}  // namespace jitc::software
