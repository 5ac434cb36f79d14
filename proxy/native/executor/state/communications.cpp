#include "communications.h"

#include <algorithm>
#include <cstring>

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

std::span<const ops::CollectiveItem> items_of(const ops::Collective& op) {
  return {reinterpret_cast<const ops::CollectiveItem*>(&op + 1), op.count};
}
}  // namespace

uint64_t communicator_name(const std::array<uint8_t, 128>& unique_id) {
  return name_from(std::as_bytes(std::span(unique_id)));
}

// -- ops -----------------------------------------------------------------------------------------------

void Communications::on(const ops::CommunicatorCreate& op) {
  const uint64_t name = op.ranks > 1 ? communicator_name(op.unique_id) : 0;
  add({op.handle, op.ranks, op.rank, op.unique_id, name}, {true, 0, op.header.sequence});
}

/// Splits a communicator, at the same of its collectives on all its ranks; those of one color form a new one.
void Communications::on(const ops::CommunicatorSplit& op) {
  uint64_t name = 0;
  if (Part* const parent = part(op.parent)) {
    parent->collectives.add({true, 0, op.header.sequence});
    const uint64_t identity[] = {communicators_[op.parent].name, parent->collectives.count(),
                                 static_cast<uint64_t>(op.color)};
    name = name_from(std::as_bytes(std::span(identity)));
  }
  if (op.color >= 0) add({op.handle, 0, Membership::kUnknown, {}, name}, {});
}

void Communications::on(const ops::Collective& op) { launch(op.header, items_of(op)); }

void Communications::launch(const ops::OpHeader& op, std::span<const ops::CollectiveItem> items) {
  const uint64_t stream = wire::stream_of(op);
  for (auto& [origin, capture] : captures_)
    if (capture.streams.contains(stream)) return capture.add(items);
  count(items, {false, stream, op.sequence});
}

void Communications::add(const Resources::Communicator& one, const Given::Mark& joined) {
  communicators_[one.handle] = one;
  if (!one.name) return;
  parts_[one.name] = {one.rank, false, {}, {}};
  parts_[one.name].collectives.add(joined);
}

void Communications::leave(uint64_t handle) {
  if (Part* const one = part(handle)) one->left = true;
  communicators_.erase(handle);
}

Tally Communications::counts_of(const ops::Collective& op) const {
  Communications alone;
  const uint64_t stream = wire::stream_of(op.header);
  if (std::ranges::any_of(captures_, [&](const auto& one) { return one.second.streams.contains(stream); }))
    return {};
  alone.communicators_ = communicators_;
  for (const ops::CollectiveItem& item : items_of(op)) {
    const auto found = communicators_.find(item.comm);
    const auto known = found == communicators_.end() ? parts_.end() : parts_.find(found->second.name);
    if (known == parts_.end()) continue;
    const auto& [name, one] = *known;
    alone.parts_.try_emplace(name, Part{one.rank, one.left, {}, {}});
  }
  alone.count(items_of(op), {});
  return alone.tally();
}

void Communications::count(std::span<const ops::CollectiveItem> items, const Given::Mark& mark) {
  for (const ops::CollectiveItem& item : items) {
    Part* const one = part(item.comm);
    if (!one) continue;
    const auto kind = static_cast<ops::CollectiveKind>(item.kind);
    const bool received = kind == ops::CollectiveKind::receive;
    const bool transferred = received || kind == ops::CollectiveKind::send;
    (transferred ? one->exchanges[{item.peer, received}] : one->collectives).add(mark);
  }
}

Communications::Part* Communications::part(uint64_t handle) {
  const auto found = communicators_.find(handle);
  if (found == communicators_.end() || !found->second.name) return nullptr;
  return &parts_[found->second.name];
}

// -- captures ------------------------------------------------------------------------------------------

void Communications::see(const ops::OpHeader& op) {
  for (auto& [origin, capture] : captures_) capture.see(op);
}

void Communications::Capture::see(const ops::OpHeader& op) {
  const uint64_t stream = wire::stream_of(op);
  const auto id = static_cast<ops::OpId>(op.op);
  if (id == ops::OpId::event_wait && events.contains(as<ops::EventWait>(op).event)) streams.insert(stream);
  if (id != ops::OpId::event_record) return;
  const uint64_t event = as<ops::EventRecord>(op).event;
  if (streams.contains(stream))
    events.insert(event);
  else
    events.erase(event);
}

void Communications::resume_capture(const Resources::Capture& open, const Launched& launched) {
  Capture capture{{open.stream}, {}, {}};
  for (const auto& record : open.ops->ops) {
    const auto& op = *reinterpret_cast<const ops::OpHeader*>(record.data());
    capture.see(op);
    if (!capture.streams.contains(wire::stream_of(op))) continue;
    const auto id = static_cast<ops::OpId>(op.op);
    if (id == ops::OpId::collective) capture.add(items_of(as<ops::Collective>(op)));
    if (id == ops::OpId::graph_launch) capture.add(launched(as<ops::GraphLaunch>(op).executable));
  }
  captures_.insert_or_assign(open.stream, std::move(capture));
}

std::vector<ops::CollectiveItem> Communications::end_capture(uint64_t stream) {
  const auto capture = captures_.extract(stream);
  return capture ? std::move(capture.mapped().items) : std::vector<ops::CollectiveItem>{};
}

// -- all of them ---------------------------------------------------------------------------------------

void Communications::learn_ranks(const Backend& backend) {
  for (const auto& [handle, known] : communicators_) {
    Part* const one = part(handle);
    Resources::Communicator made{};
    if (one && one->rank == Membership::kUnknown && backend.communicator(handle, made)) one->rank = made.rank;
  }
}

void Communications::learn_rank(uint64_t handle, std::span<const std::byte> result) {
  int32_t told[2];  // ranks, rank
  Part* const one = part(handle);
  if (!one || result.size() < sizeof(told)) return;
  std::memcpy(told, result.data(), sizeof(told));
  one->rank = told[1];
}

void Communications::forget(const std::vector<uint64_t>& names) {
  for (const uint64_t one : names) parts_.erase(one);
}

Tally Communications::tally() const {
  Tally tally;
  tally.memberships.reserve(parts_.size());
  for (const auto& [name, part] : parts_) {
    tally.memberships.push_back({name, part.rank, part.left, part.collectives.count()});
    for (const auto& [whom, given] : part.exchanges)
      tally.exchanges.push_back({name, whom.first, whom.second, given.count()});
  }
  return tally;
}

Standing Communications::standing(const Given::IsDone& is_done) const {
  Standing found;
  for (const auto& [name, part] : parts_) {
    if (part.left) continue;
    if (const uint64_t done = part.collectives.done(is_done); done < part.collectives.count()) {
      found.waits.memberships.push_back({name, part.rank, 0, part.collectives.count()});
      found.finished.memberships.push_back({name, part.rank, 0, done});
    }
    for (const auto& [whom, given] : part.exchanges)
      if (const uint64_t done = given.done(is_done); done < given.count()) {
        found.waits.exchanges.push_back({name, whom.first, whom.second, given.count()});
        found.finished.exchanges.push_back({name, whom.first, whom.second, done});
      }
  }
  if (found.waits != Tally{}) found.done = tally();
  return found;
}

std::vector<Resources::Communicator> Communications::list(const Backend& backend) const {
  std::vector<Resources::Communicator> list;
  for (const auto& [handle, known] : communicators_) {
    Resources::Communicator one = known;
    const bool made = backend.communicator(handle, one);
    one.name = known.name;
    if (made || known.ranks) list.push_back(one);
  }
  return list;
}

void Communications::reset(const Resources& resources) {
  *this = {};
  for (const auto& one : resources.communicators) communicators_[one.handle] = one;
  for (const Membership& one : resources.tally.memberships)
    parts_[one.communicator] = {one.rank, one.left != 0, Given(one.collectives), {}};
  for (const Exchange& one : resources.tally.exchanges)
    parts_[one.communicator].exchanges[{one.peer, one.received != 0}] = Given(one.count);
}

}  // namespace jitc
