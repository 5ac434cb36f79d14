// Membership of one rank in one communicator, in one recovery epoch.
//
// Promises: the first thread that needs it joins, once; collectives on it run in their order of submission,
// on any streams; abort() releases every wait at once (a fence), end() those of this rank for others (the
// program aborts it: ending.h).
// Called by: Communicators (table), the collectives (stream threads), joining and splitting threads.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/services.h"
#include "device/software/errors/error.h"
#include "device/software/errors/impairment.h"
#include "device/software/segment/ending.h"
#include "device/software/segment/segment.h"
#include "device/software/stream/wait_hub.h"

namespace jitc::software {

using Identity = Resources::Communicator;

/// Order of ops on a communicator: one after the other, by ticket.
class Order {
 public:
  uint64_t ticket() { return given_++; }  // one thread
  /// Waits for the ticket's turn; false if given_up() is true before.
  template <class GivenUp>
  bool wait(WaitHub& hub, uint64_t ticket, GivenUp given_up) const {
    hub.wait([&] { return given_up() || passed_.load() == ticket; });
    return !given_up() && passed_.load() == ticket;
  }
  void pass(WaitHub& hub) {
    passed_.fetch_add(1);
    hub.changed();
  }

 private:
  uint64_t given_ = 0;
  std::atomic<uint64_t> passed_{0};
};

class Communicator {
 public:
  /// known: false for a split one, whose identity comes later.
  Communicator(Identity identity, bool known) : identity_(identity), known_(known) {}

  bool known() const { return known_.load(); }
  /// Waits until the identity is known. Throws if that is given up or failed.
  void wait_known(WaitHub& hub) const;
  void become(const Identity& identity, WaitHub& hub);
  void fail(const OpError& failure, WaitHub& hub);
  /// Returns true once: the caller then has to call join().
  bool claim_join() { return !claimed_.exchange(true); }
  /// Maps the segment unless that is done. May wait for the node service. Throws OpError.
  void join(CommunicatorSegments& segments, WaitHub& hub);
  /// Waits for the end of another thread's join(). Throws if that is given up or failed.
  void wait_mapped(WaitHub& hub) const;
  /// Waits until every rank has joined. Throws Abandoned, OpError if one cannot come (any more).
  void wait_joined() const;
  /// Waits for the ticket's turn in the order, which is one of this communicator's. False: it ends before.
  /// Throws Abandoned.
  bool await_turn(Order& order, uint64_t ticket, WaitHub& hub) const;
  /// Ends the communicator: the program aborts it. True once: the caller must publish the outcome.
  bool end(uint64_t sequence, WaitHub& hub);
  /// Waits after end() and returns which collectives are not done. Throws Abandoned.
  Cut await_outcome(WaitHub& hub) const;
  /// Waits until the outcome is in the journal. Throws Abandoned.
  void await_recorded(WaitHub& hub) const;
  void abort();
  void check_aborted() const;
  /// Throws Abandoned, OpError if others cannot be reached.
  void check_link() const;

  const Identity& identity() const { return identity_; }
  uint32_t ranks() const { return static_cast<uint32_t>(identity_.ranks); }
  uint32_t rank() const { return static_cast<uint32_t>(identity_.rank); }
  Segment& segment() const { return *segment_.load(); }
  uint32_t doorbell() const { return segment().own().doorbell.rung(); }

  Impairment link;  // until a recovery has made the communicator anew
  Order collectives, splits;
  Ending ending;

 private:
  Identity identity_;
  std::atomic<bool> known_, claimed_{false}, failed_{false}, aborted_{false}, end_claimed_{false};
  OpError failure_{};  // set before failed_
  std::mutex joining_;
  std::unique_ptr<Segment> mapped_;
  std::atomic<Segment*> segment_{nullptr};
};

/// Rounds of one rank: in each, every rank fills its box and its descriptor, then all read. Boxes alternate,
/// so a round may be filled while slower ranks still read the one before.
class Rounds {
 public:
  Rounds(const Communicator& communicator, Turn turn)
      : communicator_(communicator),
        segment_(communicator.segment()),
        turn_(turn),
        round_(segment_.own().rounds[turn].load()) {}
  std::byte* own_box() const { return segment_.box(communicator_.rank(), round_); }
  const std::byte* box(uint32_t rank, uint64_t back = 0) const { return segment_.box(rank, round_ - back); }
  const Descriptor& descriptor(uint32_t rank) const {
    return segment_.area(rank).descriptors[turn_][round_ % 2];
  }
  void publish(const Descriptor& descriptor);
  bool complete() const;
  /// Returns the ranks that have not published this round.
  std::vector<uint32_t> missing() const;
  /// Throws OpError if another rank's descriptor does not agree. Requires a complete round.
  void compare(const Descriptor& own) const;
  void next() { ++round_; }

 private:
  const Communicator& communicator_;
  Segment& segment_;
  const Turn turn_;
  uint64_t round_;
};

std::string describe(const Descriptor& descriptor);

}  // namespace jitc::software
