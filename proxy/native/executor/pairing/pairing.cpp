#include "pairing.h"

#include <algorithm>
#include <utility>

#include "executor/boundary/reserves.h"
#include "executor/core/session_core.h"
#include "executor/state/communications.h"
#include "view.h"

namespace jitc {
namespace {
/// Adds a communicator that was joined after the newest boundary that is kept.
void add(Tally& tally, const ops::CommunicatorCreate& op) {
  const uint64_t name = communicator_name(op.unique_id);
  if (op.ranks < 2 || tally.find(name)) return;
  const auto place = std::ranges::lower_bound(tally.memberships, name, {}, &Membership::communicator);
  tally.memberships.insert(place, {name, op.rank, 0, 1});
}

bool has_left(const Tally& tally, uint64_t communicator, bool or_not_there) {
  const Membership* const one = tally.find(communicator);
  return one ? one->left != 0 : or_not_there;
}
}  // namespace

RankHistory Pairing::history(const Boundaries& boundaries) const {
  RankHistory history;
  if (core_.journal.head() == 0) history.kept.push_back({});
  for (const BoundaryState& one : boundaries) history.kept.push_back({one.number, one.resources.tally});
  if (boundaries.empty() && passed_) history.kept = {*passed_};
  history.now = core_.issued.table.communications().tally();
  const uint64_t newest = boundaries.empty() ? 0 : boundaries.back().sequence;
  for (const auto& op : joined_)
    if (op.header.sequence > newest) add(history.now, op);
  history.step = step_;
  history.at_step = at_step_;
  history.uneven = uneven_;
  history.standing = standing_;
  return history;
}

void Pairing::show(const Boundaries& boundaries) {
  seen_ = core_.board.job.seen_from(core_.request.slot);
  show_counts(boundaries);
}

void Pairing::show_counts(const Boundaries& boundaries) {
  RankHistory mine = history(boundaries);
  connected_ = connected_ || connect(mine.now);
  mine.seen = seen_;
  if (core_.board.job.show(core_.request.slot, mine) && connected_)
    told_full_ = false;
  else if (!std::exchange(told_full_, true))
    core_.notice(
        "this program has used too many communicators since the boundary that a fault would take it "
        "back to: until some are destroyed on all ranks, no newer one takes its place");
}

bool Pairing::connect(const Tally& tally) {
  bool all = true;
  for (const Membership& one : tally.memberships)
    all = core_.board.job.join(core_.request.slot, one.communicator) && all;
  return all;
}

void Pairing::will_join(const ops::CommunicatorCreate& op, const Boundaries& boundaries) {
  if (op.ranks < 2) return;
  if (!core_.board.job.join(core_.request.slot, communicator_name(op.unique_id))) connected_ = false;
  joined_ = {op};
  show(boundaries);
  joined_.clear();
}

void Pairing::say_alone(const Boundaries& boundaries) const {
  const uint64_t count = count_after(boundaries, core_.at.committed);
  core_.slot().alone.store(count >= kFew ? count : 0);
}

void Pairing::step_ends() { end_of_step_ = core_.issued.table.communications().tally(); }

void Pairing::stand(Standing standing, const Boundaries& boundaries) {
  if (standing == standing_) return;
  standing_ = std::move(standing);
  show(boundaries);
}

bool Pairing::at_end_of_step() const {
  return end_of_step_ && *end_of_step_ == core_.issued.table.communications().tally();
}

void Pairing::pass(uint64_t boundary) { passed_ = {boundary, core_.issued.table.communications().tally()}; }

void Pairing::renew(const Boundaries& boundaries) {
  const JobBoard& board = core_.board.job;
  const std::vector<Version> now = board.seen_from(core_.request.slot);
  const bool stale = std::ranges::any_of(seen_, [&](const Version& one) {
    const auto there = std::ranges::find(now, one.session, &Version::session);
    return there == now.end() || (one.number == Version::kUnknown && there->number != one.number);
  });
  if (!stale) return;
  show(boundaries);
  board.ring();
}

std::optional<uint64_t> Pairing::newest_common(const std::vector<uint32_t>& named,
                                               const Boundaries& boundaries) {
  if (!connected_) return std::nullopt;  // the group may be larger than it seems
  const View view(core_.board.job, core_.request.slot, named);
  if (!view.is_whole()) return std::nullopt;  // one has not come that far, or shows another one right now
  if (!view.is_closed(View::Unknown::counts)) return std::nullopt;
  std::vector<RankHistory> ranks{history(boundaries)};
  for (const uint32_t slot : view.group())
    if (const RankHistory* const other = view.history(slot)) ranks.push_back(*other);
  const auto cut = newest_cut(ranks);
  if (!cut) return std::nullopt;
  const auto number = [&](size_t rank) { return ranks[rank].kept[(*cut)[rank]].number; };
  for (size_t rank = 1; rank < ranks.size(); ++rank)
    if (number(rank) != number(0)) uneven_ = true;
  return number(0);
}

void Pairing::forget_left(const std::vector<uint32_t>& group, const Boundaries& boundaries) {
  const RankHistory own = history(boundaries);
  std::vector<uint64_t> names;
  for (const Membership& one : own.now.memberships)
    if (one.left && std::ranges::all_of(own.kept, [&](const KeptTally& kept) {
          return has_left(kept.tally, one.communicator, false);
        }))
      names.push_back(one.communicator);
  for (const uint32_t slot : group) {
    if (names.empty()) return;
    if (slot == core_.request.slot) continue;
    const auto other = core_.board.job.history(slot);
    if (!other) return;
    std::erase_if(names, [&](uint64_t name) {
      return !has_left(other->now, name, true) ||
             !std::ranges::all_of(other->kept,
                                  [&](const KeptTally& kept) { return has_left(kept.tally, name, true); });
    });
  }
  core_.issued.table.communications().forget(names);
  for (const uint64_t name : names) core_.board.job.part(core_.request.slot, name);
}

void Pairing::reach(uint64_t step, const Boundaries& boundaries) {
  step_ = step;
  at_step_ = core_.issued.table.communications().tally();
  show(boundaries);
}

Pairing::Gathering Pairing::gathering(const std::vector<uint32_t>& named, uint64_t step) const {
  RankHistory own;
  own.step = step_;
  own.at_step = own.now = at_step_;
  const JobBoard& board = core_.board.job;
  std::vector<uint32_t> here;  // looked for first: the histories are then at least as new
  const std::vector<uint32_t> group = board.group(core_.request.slot, named);
  for (const uint32_t one : group)
    if (one == core_.request.slot || board.slot(one).reached.load() >= step) here.push_back(one);
  const bool all = here.size() == group.size();
  const View view(board, core_.request.slot, named, all ? View::kReadings : 1);
  for (const uint32_t slot : view.group()) {
    const RankHistory* const other = view.history(slot);
    if (!other) continue;
    const bool is_here = std::ranges::count(here, slot) != 0;
    const bool apart =
        is_here ? other->step == step && !agree_at_step(own, *other) : is_ahead(other->now, at_step_);
    if (other->uneven || apart) return Gathering::uneven;
  }
  const bool together = all && view.group() == group && view.is_closed(View::Unknown::does_not_count);
  return together ? Gathering::together : Gathering::waits;
}

bool Pairing::has_uneven_peer(const std::vector<uint32_t>& group) const {
  return std::ranges::any_of(group, [&](uint32_t slot) {
    const auto other = slot == core_.request.slot ? std::nullopt : core_.board.job.history(slot);
    return other && other->uneven;
  });
}

void Pairing::find_uneven(const Boundaries& boundaries) {
  if (!uneven_.exchange(true)) show(boundaries);
}

}  // namespace jitc
