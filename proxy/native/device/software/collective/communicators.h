// Communicators of one session: table, creation, splits.
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
#include "device/software/errors/failures.h"
#include "device/software/memory/memory.h"

namespace jitc::software {

class Group;

class Communicators final : public Aborts {
 public:
  /// Functions of the device.
  struct Host {
    ExecutionSink& sink;
    Failures& failures;
    CommunicatorSegments& segments;
    WaitHub& hub;
    double hang_seconds;  // longer waits for other ranks' splits are an error; 0: never
  };
  explicit Communicators(const Host& host)
      : sink_(host.sink),
        failures_(host.failures),
        segments_(host.segments),
        hub_(host.hub),
        hang_seconds_(host.hang_seconds) {}
  ~Communicators();

  // Called in sequence order. Throw OpError.
  void create(const ops::CommunicatorCreate& op);
  void split(const ops::CommunicatorSplit& op);
  void destroy(const ops::CommunicatorDestroy& op);
  /// Ends a communicator that the program aborts: the result lists what is not done (ending.h).
  void end(const ops::CommunicatorAbort& op);
  std::shared_ptr<Group> group(const ops::Collective& op);

  /// Runs a group, on a stream's thread. Throws OpError, Abandoned.
  void run(Group& group, const Memory& memory, const device::Residency& residency);
  /// Impairs the links of the op's communicators from this op on. Throws OpError.
  void impair(const ops::Collective& op, Impairment::Kind how);

  /// Announces the abort before it is executed; the communicator can still be reached. Any thread.
  void abort_coming(const ops::CommunicatorAbort& op) override;
  /// Supplies the results of aborts in a replay, before later ops; everything up to the sequence has run.
  void expect_aborts(const std::vector<KnownAbort>& aborts, uint64_t sequence) override;

  bool find(uint64_t handle, Identity& out) const;
  /// Releases every wait. Later ops need renew() or restore() first.
  void abort();
  /// Recreates the communicators after an abort, not joined; results of earlier ops will not be reported.
  void renew();
  void restore(const std::vector<Identity>& wanted);
  /// Returns whether no op since the last renew() or restore() waits here.
  bool quiet() const;

 private:
  using Pointer = std::shared_ptr<Communicator>;
  struct Helper {
    std::thread thread;
    std::shared_ptr<std::atomic<bool>> over;
  };
  /// Helpers begun between two renewals. Those of an earlier generation may still be exiting. No lock is held
  /// during a delivery: the sink has locks of its own, under which restore() is called.
  class Generation {
   public:
    std::atomic<int> working{0};
    /// Begins a delivery. False: the generation has ended, and the result must not be reported.
    bool begin_delivery();
    void end_delivery();
    /// Ends it and returns when the last delivery is over; none begins afterwards.
    void end();

   private:
    std::mutex mutex_;  // the rest
    std::condition_variable delivered_;
    int deliveries_ = 0;
    bool over_ = false;
  };
  /// Function that returns the result's payload.
  using Work = std::function<std::vector<std::byte>()>;

  /// Adds a communicator. sequence: of the op that makes it, 0: it existed before.
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
  void fault(const std::shared_ptr<Generation>& generation, uint64_t sequence, const OpError& error);
  void gather(Communicator& parent, const Rounds& rounds) const;
  Identity agree_on_split(const ops::CommunicatorSplit& op, Communicator& parent);
  std::vector<std::byte> join_split(const ops::CommunicatorSplit& op, Communicator& parent, uint64_t ticket,
                                    const Pointer& child);

  ExecutionSink& sink_;
  Failures& failures_;
  CommunicatorSegments& segments_;
  WaitHub& hub_;
  const double hang_seconds_;
  mutable std::mutex mutex_;  // guards table_, all_, expected_, executed_
  std::unordered_map<uint64_t, Pointer> table_;
  std::vector<std::weak_ptr<Communicator>> all_;  // destroyed ones too, while ops use them
  std::vector<KnownAbort> expected_;
  uint64_t executed_ = 0;
  mutable std::mutex counting_;  // guards generation_; the last one to be taken
  std::shared_ptr<Generation> generation_ = std::make_shared<Generation>();
  std::mutex starting_;  // guards helpers_
  std::list<Helper> helpers_;
};

}  // namespace jitc::software
