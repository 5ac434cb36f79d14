// See messages.h.
#include "messages.h"

#include <algorithm>

#include "base/error.h"

namespace jitc::messages {
namespace {
BlockRow block_row(const LiveRow& row) {
  const bool known = row.hash != kNoHash;
  return {.address = row.block.address,
          .bytes = row.block.bytes,
          .ordinal = row.block.ordinal,
          .hash = row.hash,
          .hash_before_step = row.before,
          .copied = known && row.copied(),
          .in_place = !known && row.copied()};
}

History history_of(const RankHistory& history) {
  History made{.now = messages::message(history.now), .uneven = history.uneven};
  for (const auto& one : history.kept) made.kept.push_back({one.number, messages::message(one.tally)});
  return made;
}

RaceSide side_of(const Race::Side& side) {
  return {.op = side.name,
          .operator_ = side.operator_name,
          .place = side.place,
          .stream = side.stream,
          .sequence = side.sequence,
          .writes = side.writes};
}
}  // namespace

std::vector<BlockRow> message(const std::vector<LiveRow>& rows) {
  std::vector<BlockRow> list;
  for (const LiveRow& row : rows)
    if (!row.variable()) list.push_back(block_row(row));
  return list;
}

Tally message(const jitc::Tally& tally) {
  Tally made;
  for (const auto& one : tally.memberships)
    made.memberships.push_back({one.communicator, one.rank, one.left != 0, one.collectives});
  for (const auto& one : tally.exchanges)
    made.exchanges.push_back({one.communicator, one.peer, one.received != 0, one.count});
  return made;
}

Position message(const jitc::Position& position) {
  return {.committed = position.committed,
          .prepared = position.prepared,
          .reached = position.reached,
          .begun = position.begun,
          .executed = position.executed,
          .received = position.received,
          .reserves = position.reserves,
          .history = history_of(position.history)};
}

RecoverReply message(const jitc::RecoverReply& reply) {
  return {.complete = reply.complete,
          .message = reply.message,
          .bytes = reply.bytes,
          .missing = message(reply.missing),
          .links = reply.direct_path,
          .tally = message(reply.tally)};
}

BoundaryTableReply message(const BoundaryState& state) {
  const bool variables_change = std::any_of(state.rows.begin(), state.rows.end(), [](const LiveRow& row) {
    return row.variable() && !row.settled();
  });
  return {.boundary = state.number,
          .rows = message(state.rows),
          .step_has_waits = state.step_waits != 0,
          .step_has_collectives = state.step_collectives != 0,
          .variables_change = variables_change,
          .measured = state.measured != 0,
          .tally = message(state.resources.tally)};
}

RaceReport message(uint64_t session, const Race& race) {
  return {.session = session,
          .first = side_of(race.first),
          .second = side_of(race.second),
          .address = race.address,
          .bytes = race.bytes};
}

std::vector<LiveRow> rows(const std::vector<BlockRow>& messages) {
  std::vector<LiveRow> list;
  for (const BlockRow& one : messages) {
    list.push_back({{one.address, one.bytes, one.ordinal}});
    list.back().hash = one.hash;
  }
  return list;
}

std::vector<jitc::Transfer> transfers(const std::vector<Transfer>& messages) {
  std::vector<jitc::Transfer> list;
  for (const Transfer& one : messages) list.push_back({one.address, one.bytes, one.offset, one.hash});
  return list;
}

jitc::Policy policy(const Policy& message) {
  const auto set = [](const std::vector<uint64_t>& ordinals) {
    return std::set<uint64_t>(ordinals.begin(), ordinals.end());
  };
  jitc::Policy made;
  made.copy_all = message.copy_all;
  made.barrier = message.barrier;
  made.mutable_ordinals = set(message.volatile_ordinals);
  made.rank_local_ordinals = set(message.unique_ordinals);
  made.classified_ordinals = set(message.known_ordinals);
  made.measure_every = message.measure_every;
  made.reserve = message.reserve;
  made.next_reserve = message.next_reserve;
  return made;
}

jitc::Fault fault(const Fault& message) {
  jitc::Fault made;
  made.kind = message.kind;
  made.sequence = message.sequence;
  made.operations = message.operations;
  made.boundary = message.boundary;
  made.phase = message.phase;
  made.skip = message.skip;
  made.armed_at_boundary = message.armed_at_boundary;
  made.number = message.number;
  return made;
}

jitc::SessionRequest session(const OpenSessionRequest& message) {
  if (!message.session) throw Error("the request has no \"session\"");
  jitc::SessionRequest request;
  request.session = message.session;
  request.token = message.token;
  request.slot = message.slot;
  request.journal = {message.journal_path, message.journal_bytes};
  request.spill = {message.spill_path, message.spill_bytes};
  request.snapshot_path = message.snapshot_path;
  request.snapshot_bytes = message.snapshot_bytes;
  request.board_path = message.board_path;
  request.address_base = message.address_base;
  request.address_bytes = message.address_bytes;
  request.rebuild = message.rebuild;
  request.guest = message.guest;
  request.epoch = message.epoch;
  request.pinned = {message.pinned_path, message.pinned_base, message.pinned_bytes};
  return request;
}

}  // namespace jitc::messages
