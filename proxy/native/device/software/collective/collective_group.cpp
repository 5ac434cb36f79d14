// See collective_group.h.
#include "collective_group.h"

#include <algorithm>
#include <new>

#include "device/common/operands.h"
#include "device/software/errors/error.h"
#include "device/software/stream/stream.h"

namespace jitc::software {
namespace {
constexpr int64_t kSleep = 100'000;    // microseconds; the doorbell wakes earlier
constexpr int64_t kSleepOnMany = 300;  // a futex waits for one doorbell only
constexpr int kSpins = 64;
}  // namespace

Group::Group(const ops::Collective& op) : op_(op), items_(items_of(op)) {}

void Group::take_tickets() {
  for (const auto& communicator : communicators_) {
    const auto same = [&](const Member& one) { return one.communicator == communicator.get(); };
    if (std::any_of(members_.begin(), members_.end(), same)) continue;
    Member& member =
        members_.emplace_back(communicator.get(), communicator->ending.given(op_.header.sequence));
    member.takes_part = !communicator->ending.excluded(member.at);
    if (member.takes_part) member.ticket = communicator->collectives.ticket();
  }
}

bool Group::Lane::advance() {
  if (done()) return false;
  const bool advanced = runs[at]->advance();
  if (runs[at]->done()) ++at;
  return advanced;
}

/// Waits for all turns before any item begins: the end of one could depend on what another waits for.
void Group::wait_turn(WaitHub& hub) {
  for (Member& member : members_)
    if (member.takes_part) wait_turn(member, hub);
  for (Member& member : members_)
    member.takes_part = member.takes_part && member.communicator->ending.begin(member.at);
}

void Group::wait_turn(Member& member, WaitHub& hub) {
  Communicator& communicator = *member.communicator;
  communicator.wait_known(hub);
  member.takes_part = communicator.await_turn(communicator.collectives, member.ticket, hub);
  if (!member.takes_part) return;
  communicator.wait_mapped(hub);
  communicator.check_aborted();
}

Group::Member& Group::member_of(const Communicator& communicator) {
  return *std::find_if(members_.begin(), members_.end(),
                       [&](const Member& one) { return one.communicator == &communicator; });
}

Group::Lane& Group::lane_of(const Call& call, const Communicator& communicator) {
  const uint32_t kind = call.point_to_point() ? call.item.kind : 0;
  const int32_t peer = call.point_to_point() ? call.item.peer : -1;
  for (Lane& lane : lanes_)
    if (lane.communicator == &communicator && lane.kind == kind && lane.peer == peer) return lane;
  return lanes_.emplace_back(Lane{&communicator, kind, peer, {}});
}

void Group::make_lanes(const Memory& memory) {
  runs_.assign(items_.size(), nullptr);
  for (size_t i = 0; i < items_.size(); ++i) {
    const Communicator& communicator = *communicators_[i];
    if (!member_of(communicator).takes_part) continue;
    const Call call = check_call(op_.header, items_[i], communicator.ranks(), communicator.rank(), memory);
    auto& run = lane_of(call, communicator).runs.emplace_back(make_run(call, communicator));
    runs_[i] = run.get();
  }
}

/// Stops a replay where the program's abort stopped the original.
void Group::limit_steps() {
  for (const Member& member : members_) {
    const auto limits = member.takes_part ? member.communicator->ending.limits(member.at) : std::nullopt;
    if (!limits) continue;
    for (size_t i = 0; i < runs_.size(); ++i)
      if (runs_[i] && communicators_[i].get() == member.communicator)
        runs_[i]->limit_to(i < limits->size() ? (*limits)[i] : 0);
  }
}

void Group::stop(const Communicator& communicator) {
  for (size_t i = 0; i < runs_.size(); ++i)
    if (runs_[i] && communicators_[i].get() == &communicator) runs_[i]->limit_to(runs_[i]->steps());
}

std::vector<uint64_t> Group::steps_of(const Communicator& communicator) const {
  std::vector<uint64_t> steps(runs_.size());
  for (size_t i = 0; i < runs_.size(); ++i)
    if (runs_[i] && communicators_[i].get() == &communicator) steps[i] = runs_[i]->steps();
  return steps;
}

/// Posts this rank's contributions. Receives wait until the injection point has passed.
void Group::post() {
  for (Lane& lane : lanes_)
    if (lane.kind != static_cast<uint32_t>(ops::CollectiveKind::receive)) lane.advance();
}

bool Group::advance() {
  bool advanced = false;
  for (Lane& lane : lanes_) advanced |= lane.advance();
  return advanced;
}

bool Group::done() const {
  return std::all_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.done(); });
}

void Group::sleep(uint32_t seen) const {
  const Communicator& first = *lanes_.front().communicator;
  for (int i = 0; i < kSpins; ++i) {
    if (first.doorbell() != seen) return;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  first.segment().sleep(seen, members_.size() == 1 ? kSleep : kSleepOnMany);
}

void Group::stage() {
  try {
    staging_.emplace(runs_);
  } catch (const std::bad_alloc&) {  // the turn changes with each round
  }
}

void Group::finish(const device::Residency& residency, WaitHub& hub) {
  std::optional<device::Residency::Outside> elsewhere;
  while (!done()) {
    if (!elsewhere && residency.takes_turns()) {
      stage();
      if (staging_) elsewhere.emplace();
    }
    const uint32_t seen = lanes_.front().communicator->doorbell();
    check_members(hub);
    for (const Member& member : members_)
      if (member.takes_part) member.communicator->check_link();
    if (advance()) {
      Stream::note_progress();
      for (const Member& member : members_) member.communicator->link.linger();
    } else if (all_present()) {
      if (elsewhere) {
        sleep(seen);
        continue;
      }
      device::Residency::Outside outside;
      sleep(seen);
      outside.back();
    }
  }
  if (!elsewhere) return;
  elsewhere->back();
  staging_->give_back();
}

/// Leaves a communicator that the program aborts at once, even if other items wait.
void Group::check_members(WaitHub& hub) {
  for (Member& member : members_) {
    member.communicator->check_aborted();
    if (!member.takes_part || !member.communicator->ending.ends()) continue;
    stop(*member.communicator);
    leave(member, hub);
  }
}

/// Returns false if there was something to do after all. Throws OpError when an awaited rank is lost for
/// good.
bool Group::all_present() {
  for (const Lane& lane : lanes_) {
    const Segment& segment = lane.communicator->segment();
    for (uint32_t rank = 0; rank < lane.communicator->ranks(); ++rank) {
      const bool awaited = !lane.done() && (lane.peer < 0 || lane.peer == static_cast<int32_t>(rank));
      if (!awaited || !segment.absent(rank)) continue;
      if (advance()) return false;  // it contributed before it left
      segment.refuse_absent();
    }
  }
  return true;
}

void Group::run(const Memory& memory, const device::Residency& residency, ExecutionSink& sink, WaitHub& hub) {
  if (items_.empty()) return;
  device::Residency::Outside before;
  wait_turn(hub);
  before.back();
  make_lanes(memory);
  limit_steps();
  post();
  Stream::note_entered();
  sink.injection_point(op_.header, "collective");
  finish(residency, hub);
  for (Member& member : members_) leave(member, hub);
  lanes_.clear();
  staging_.reset();
  device::Residency::Outside after;
  for (const Member& member : members_)
    if (!member.whole) member.communicator->await_recorded(hub);
  after.back();
}

void Group::leave(Member& member, WaitHub& hub) {
  Communicator& communicator = *member.communicator;
  if (!member.takes_part) return;
  member.takes_part = false;
  member.whole = std::all_of(lanes_.begin(), lanes_.end(), [&](const Lane& lane) {
    return lane.communicator != &communicator || lane.whole();
  });
  if (member.whole)
    communicator.ending.done(member.at);
  else
    communicator.ending.stopped(member.at, steps_of(communicator));
  communicator.collectives.pass(hub);
}

}  // namespace jitc::software
