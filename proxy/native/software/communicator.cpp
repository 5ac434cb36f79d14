// See communicator.h.
#include "communicator.h"

#include "error.h"
#include "reduce.h"

namespace jitc::software {
namespace {
constexpr int64_t kSleep = 100'000;  // microseconds; only a safety net, the doorbell wakes
constexpr std::array<const char*, 8> kKinds{"all_reduce",     "broadcast",  "reduce", "all_gather",
                                            "reduce_scatter", "all_to_all", "send",   "receive"};
constexpr std::array<const char*, 6> kReductions{"sum", "prod", "max", "min", "avg", "premul_sum"};
}  // namespace

void Communicator::wait_known(WaitHub& hub) const {
  if (!hub.wait([this] { return known_.load() || failed_.load(); })) throw Abandoned{};
  if (!known_) refuse(kUnknown, "communicator", reason_);
}

void Communicator::become(const Identity& identity, WaitHub& hub) {
  identity_ = identity;
  known_.store(true);
  hub.changed();
}

void Communicator::fail(const std::string& reason, WaitHub& hub) {
  reason_ = reason;
  failed_.store(true);
  hub.changed();
}

void Communicator::wait_mapped(WaitHub& hub) const {
  if (!hub.wait([this] { return segment_.load() || failed_.load(); })) throw Abandoned{};
  if (!segment_.load()) refuse(kUnknown, "communicator", reason_);
}

void Communicator::join(Rendezvous& rendezvous, WaitHub& hub) {
  const std::lock_guard lock(joining_);
  if (segment_.load()) return;
  auto segment = std::make_unique<Segment>(ranks(), rank());
  std::string path, error;
  uint64_t bytes = 0;
  if (ranks() > 1) {
    path = rendezvous.join(identity_.unique_id, ranks(), rank(), bytes, error);
    if (path.empty()) refuse(kUnknown, "communicator", "cannot join the communicator: " + error);
  }
  if (!segment->map(path, bytes, error)) refuse(kUnknown, "communicator", error);
  mapped_ = std::move(segment);
  segment_.store(mapped_.get());
  mapped_->own().joined.store(1);
  mapped_->ring_all();
  hub.changed();
}

void Communicator::wait_joined() const {
  for (uint32_t other = 0; other < ranks(); ++other) {
    while (true) {
      const uint32_t seen = doorbell();
      check_aborted();
      if (segment().area(other).joined.load()) break;
      segment().sleep(seen, kSleep);
    }
  }
}

void Communicator::abort() {
  aborted_.store(true);
  if (Segment* const segment = segment_.load()) segment->ring(rank());
}

void Communicator::check_aborted() const {
  if (aborted()) throw Abandoned{};
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
