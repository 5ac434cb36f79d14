#include "communications.h"

#include <span>

#include "base/checksum.h"
#include "executor/journal/wire.h"

namespace jitc {
namespace {
uint64_t name_from(std::span<const std::byte> bytes) {
  const Hash hash = hash_bytes(bytes);
  uint64_t name = 0;
  for (int i = 0; i < 8; ++i) name = name << 8 | hash[i];
  return name | 1;  // never 0
}
}  // namespace

std::span<const ops::CollectiveItem> items_of(const ops::Collective& op) {
  return {reinterpret_cast<const ops::CollectiveItem*>(&op + 1), op.count};
}

void CapturedCollectives::see(const ops::OpHeader& op) {
  const uint64_t stream = wire::stream_of(op);
  switch (static_cast<ops::OpId>(op.op)) {
    case ops::OpId::event_record:
      if (has(stream))
        events_.insert(as<ops::EventRecord>(op).event);
      else
        events_.erase(as<ops::EventRecord>(op).event);
      return;
    case ops::OpId::event_wait:
      if (events_.contains(as<ops::EventWait>(op).event)) streams_.insert(stream);
      return;
    case ops::OpId::collective:
      if (has(stream)) add(items_of(as<ops::Collective>(op)));
      return;
    default:
      return;
  }
}

void Communications::join(const ops::CommunicatorCreate& op) {
  if (op.ranks > 1) add(op.handle, name_from(std::as_bytes(std::span(op.unique_id))), op.rank);
}

/// All ranks of the parent split it at the same of its collectives; those of one color form one communicator.
void Communications::split(const ops::CommunicatorSplit& op) {
  Part* const parent = part(op.parent);
  if (!parent) return;
  const uint64_t identity[] = {parent->membership.communicator, ++parent->membership.collectives,
                               static_cast<uint64_t>(op.color)};
  if (op.color >= 0) add(op.handle, name_from(std::as_bytes(std::span(identity))), Membership::kUnknown);
}

void Communications::add(uint64_t handle, uint64_t name, int32_t rank) {
  names_[handle] = name;
  parts_[name] = {{name, rank, 0, 1}, {}};
}

void Communications::learn_rank(uint64_t handle, int32_t rank) {
  if (Part* const one = part(handle)) one->membership.rank = rank;
}

void Communications::leave(uint64_t handle) {
  if (Part* const one = part(handle)) one->membership.left = 1;
  names_.erase(handle);
}

void Communications::count(std::span<const ops::CollectiveItem> items) {
  for (const ops::CollectiveItem& item : items) {
    Part* const one = part(item.comm);
    if (!one) continue;
    const auto kind = static_cast<ops::CollectiveKind>(item.kind);
    const bool received = kind == ops::CollectiveKind::receive;
    if (received || kind == ops::CollectiveKind::send)
      ++one->exchanges[{item.peer, received}];
    else
      ++one->membership.collectives;
  }
}

void Communications::forget(const std::vector<uint64_t>& communicators) {
  for (const uint64_t one : communicators) parts_.erase(one);
}

Tally Communications::tally() const {
  Tally tally;
  tally.memberships.reserve(parts_.size());
  for (const auto& [name, part] : parts_) {
    tally.memberships.push_back(part.membership);
    for (const auto& [whom, count] : part.exchanges)
      tally.exchanges.push_back({name, whom.first, whom.second, count});
  }
  return tally;
}

uint64_t Communications::name_of(uint64_t handle) const {
  const auto found = names_.find(handle);
  return found == names_.end() ? 0 : found->second;
}

std::vector<uint64_t> Communications::without_rank() const {
  std::vector<uint64_t> handles;
  for (const auto& [handle, name] : names_)
    if (parts_.at(name).membership.rank == Membership::kUnknown) handles.push_back(handle);
  return handles;
}

void Communications::reset(const Tally& tally, const std::map<uint64_t, uint64_t>& names) {
  parts_.clear();
  for (const Membership& one : tally.memberships) parts_[one.communicator].membership = one;
  for (const Exchange& one : tally.exchanges)
    parts_[one.communicator].exchanges[{one.peer, one.received != 0}] = one.count;
  names_ = names;
  std::erase_if(names_, [&](const auto& one) { return !parts_.contains(one.second); });
}

Communications::Part* Communications::part(uint64_t handle) {
  const auto found = names_.find(handle);
  return found == names_.end() ? nullptr : &parts_.at(found->second);
}

}  // namespace jitc
