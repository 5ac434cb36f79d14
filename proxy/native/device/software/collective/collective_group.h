// Collective op: one or more collectives that run together.
//
// The dispatcher prepares it (looks up communicators, fixes order on them), a stream's thread runs it. Items
// that would wait for each other (crossing sends and receives) make progress side by side; those that share
// the boxes of a communicator or a direction to a peer run in order. If the program aborts one of the
// communicators, its items stop, and the others continue.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "collective_run.h"
#include "communicator.h"
#include "device/common/turns/residency.h"
#include "staging.h"

namespace jitc::software {

class Group {
 public:
  explicit Group(const ops::Collective& op);  // throws OpError
  std::span<const ops::CollectiveItem> items() const { return items_; }
  /// Adds the communicator of the next item.
  void add(std::shared_ptr<Communicator> communicator) { communicators_.push_back(std::move(communicator)); }
  void take_tickets();
  void run(const Memory& memory, const device::Residency& residency, ExecutionSink& sink, WaitHub& hub);

 private:
  /// Communicator of the group.
  struct Member {
    Communicator* communicator;
    CollectivePosition at;
    uint64_t ticket = 0;
    bool takes_part = true;  // has items to do here
    bool whole = false;      // all of them are done
  };
  /// Collectives that must run one after the other.
  struct Lane {
    const Communicator* communicator;
    uint32_t kind;  // send, receive, or 0 for all that use the boxes
    int32_t peer;
    std::vector<std::unique_ptr<Run>> runs;
    size_t at = 0;
    bool advance();
    /// Returns whether nothing more is to be done.
    bool done() const { return at == runs.size() || (runs[at]->at_limit() && !runs[at]->done()); }
    bool whole() const { return at == runs.size(); }
  };

  void wait_turn(WaitHub& hub);
  void wait_turn(Member& member, WaitHub& hub);
  Member& member_of(const Communicator& communicator);
  void make_lanes(const Memory& memory);
  void limit_steps();
  void stop(const Communicator& communicator);
  std::vector<uint64_t> steps_of(const Communicator& communicator) const;
  void check_members(WaitHub& hub);
  void leave(Member& member, WaitHub& hub);
  Lane& lane_of(const Call& call, const Communicator& communicator);
  void finish(const device::Residency& residency, WaitHub& hub);
  void stage();
  bool all_present();
  void sleep(uint32_t seen) const;
  void post();
  bool advance();
  bool done() const;

  const ops::Collective& op_;
  std::span<const ops::CollectiveItem> items_;
  std::vector<std::shared_ptr<Communicator>> communicators_;  // by item
  std::vector<Member> members_;                               // each communicator once
  std::vector<Lane> lanes_;
  std::vector<Run*> runs_;  // by item; null: not run
  std::optional<Staging> staging_;
};

}  // namespace jitc::software
