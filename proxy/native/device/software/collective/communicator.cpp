// See communicator.h.
#include "communicator.h"

#include "device/software/arithmetic/reduce.h"
#include "device/software/errors/error.h"

namespace jitc::software {
namespace {
constexpr int64_t kSleep = 100'000;  // microseconds; only a safety net, the doorbell wakes
constexpr std::array<const char*, 8> kKinds{"all_reduce",     "broadcast",  "reduce", "all_gather",
                                            "reduce_scatter", "all_to_all", "send",   "receive"};
constexpr std::array<const char*, 6> kReductions{"sum", "prod", "max", "min", "avg", "premul_sum"};
}  // namespace

void Communicator::wait_known(WaitHub& hub) const {
  const auto settled = [this] { return known_.load() || failed_.load() || aborted_.load(); };
  if (!hub.wait(settled)) throw Abandoned{};
  check_aborted();
  if (!known_) throw failure_;
}

void Communicator::become(const Identity& identity, WaitHub& hub) {
  identity_ = identity;
  known_.store(true);
  hub.changed();
}

void Communicator::fail(const OpError& failure, WaitHub& hub) {
  failure_ = failure;
  failed_.store(true);
  hub.changed();
}

void Communicator::wait_mapped(WaitHub& hub) const {
  const auto settled = [this] { return segment_.load() || failed_.load() || aborted_.load(); };
  if (!hub.wait(settled)) throw Abandoned{};
  check_aborted();
  if (!segment_.load()) throw failure_;
}

void Communicator::join(CommunicatorSegments& segments, WaitHub& hub) {
  const std::lock_guard lock(joining_);
  if (segment_.load()) return;
  check_aborted();  // a helper from before a fence must not ask in the new epoch
  auto segment = std::make_unique<Segment>(ranks(), rank());
  segment->join(segments, identity_);
  check_aborted();
  mapped_ = std::move(segment);
  segment_.store(mapped_.get());
  mapped_->own().joined.store(1);
  mapped_->ring_all();
  hub.changed();
}

void Communicator::wait_joined() const {
  const auto any = [this](const auto& is) {
    for (uint32_t rank = 0; rank < ranks(); ++rank)
      if (is(rank)) return true;
    return false;
  };
  while (true) {
    const uint32_t seen = doorbell();
    check_aborted();
    // Checked in this order: a rank may join last of all, and end.
    const bool broken = any([this](uint32_t rank) { return segment().absent(rank); });
    if (!any([this](uint32_t rank) { return segment().area(rank).joined.load() == 0; })) return;
    segment().require_link();
    if (broken) segment().refuse_absent();
    segment().sleep(seen, kSleep);
  }
}

bool Communicator::await_turn(Order& order, uint64_t ticket, WaitHub& hub) const {
  const bool its_turn = order.wait(hub, ticket, [this] { return aborted_.load() || ending.ends(); });
  check_aborted();
  if (!its_turn && !ending.ends()) throw Abandoned{};
  return its_turn;
}

bool Communicator::end(uint64_t sequence, WaitHub& hub) {
  if (end_claimed_.exchange(true)) return false;
  ending.end(sequence);
  if (Segment* const segment = segment_.load()) segment->ring(rank());
  hub.changed();
  return true;
}

Cut Communicator::await_outcome(WaitHub& hub) const {
  hub.wait([this] { return aborted_.load() || ending.settled(); });
  check_aborted();
  if (!ending.settled()) throw Abandoned{};
  return ending.outcome();
}

void Communicator::await_recorded(WaitHub& hub) const {
  hub.wait([this] { return aborted_.load() || ending.recorded(); });
  check_aborted();
  if (!ending.recorded()) throw Abandoned{};
}

void Communicator::abort() {
  aborted_.store(true);
  if (Segment* const segment = segment_.load()) segment->ring(rank());
}

void Communicator::check_aborted() const {
  if (aborted_.load()) throw Abandoned{};
}

void Communicator::check_link() const {
  check_aborted();
  link.require_link();
  segment().require_link();
}

void Rounds::publish(const Descriptor& descriptor) {
  RankArea& own = segment_.own();
  own.descriptors[turn_][round_ % 2] = descriptor;
  own.rounds[turn_].store(round_ + 1);
  segment_.ring_all();
}

bool Rounds::complete() const {
  for (uint32_t rank = 0; rank < communicator_.ranks(); ++rank)
    if (segment_.area(rank).rounds[turn_].load() <= round_) return false;
  return true;
}

std::vector<uint32_t> Rounds::missing() const {
  std::vector<uint32_t> ranks;
  for (uint32_t rank = 0; rank < communicator_.ranks(); ++rank)
    if (segment_.area(rank).rounds[turn_].load() <= round_) ranks.push_back(rank);
  return ranks;
}

void Rounds::compare(const Descriptor& own) const {
  for (uint32_t rank = 0; rank < communicator_.ranks(); ++rank) {
    if (descriptor(rank).agrees(own)) continue;
    refuse(kLaunchFailure, "collective-mismatch",
           "the ranks of a communicator do not call the same collective: rank " +
               std::to_string(communicator_.rank()) + " calls " + describe(own) + ", rank " +
               std::to_string(rank) + " calls " + describe(descriptor(rank)));
  }
}

std::string describe(const Descriptor& descriptor) {
  std::string text = descriptor.kind < kKinds.size() ? kKinds[descriptor.kind] : "collective";
  text += " of " + std::to_string(descriptor.count) + " " + dtype_name(descriptor.dtype);
  if (descriptor.reduction < kReductions.size())
    text += std::string(", ") + kReductions[descriptor.reduction];
  if (descriptor.root >= 0) text += ", root " + std::to_string(descriptor.root);
  return text;
}

}  // namespace jitc::software
