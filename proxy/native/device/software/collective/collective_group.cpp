// See collective_group.h.
#include "collective_group.h"

#include <algorithm>

#include "device/common/operands.h"
#include "device/software/device/error.h"
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
    const auto same = [&](const Turn& turn) { return turn.communicator == communicator.get(); };
    if (std::none_of(turns_.begin(), turns_.end(), same))
      turns_.push_back({communicator.get(), communicator->collectives.ticket()});
  }
}

bool Group::Lane::advance() {
  if (done()) return false;
  const bool advanced = runs[at]->advance();
  if (runs[at]->done()) ++at;
  return advanced;
}

void Group::wait_turn(WaitHub& hub) {
  for (const Turn& turn : turns_) {
    turn.communicator->wait_known(hub);
    turn.communicator->await_turn(turn.communicator->collectives, turn.ticket, hub);
    turn.communicator->wait_mapped(hub);
    turn.communicator->check_aborted();
  }
}

Group::Lane& Group::lane_of(const Call& call, const Communicator& communicator) {
  const uint32_t kind = call.point_to_point() ? call.item.kind : 0;
  const int32_t peer = call.point_to_point() ? call.item.peer : -1;
  for (Lane& lane : lanes_)
    if (lane.communicator == &communicator && lane.kind == kind && lane.peer == peer) return lane;
  return lanes_.emplace_back(Lane{&communicator, kind, peer, {}});
}

void Group::make_lanes(const Memory& memory) {
  for (size_t i = 0; i < items_.size(); ++i) {
    const Communicator& communicator = *communicators_[i];
    const Call call = check_call(op_.header, items_[i], communicator.ranks(), communicator.rank(), memory);
    lane_of(call, communicator).runs.push_back(make_run(call, communicator));
  }
}

/// Gives this rank's contributions. Receives wait until the injection point has passed.
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
  const Communicator& first = *turns_.front().communicator;
  for (int i = 0; i < kSpins; ++i) {
    if (first.doorbell() != seen) return;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  first.segment().sleep(seen, turns_.size() == 1 ? kSleep : kSleepOnMany);
}

void Group::finish() {
  while (!done()) {
    const uint32_t seen = turns_.front().communicator->doorbell();
    for (const Turn& turn : turns_) turn.communicator->check_link();
    if (advance()) {
      Stream::note_progress();
      for (const Turn& turn : turns_) turn.communicator->linger();
    } else if (all_present()) {
      sleep(seen);
    }
  }
}

/// False when there was something to do after all. Throws OpError when a rank that is waited for is gone for
/// good.
bool Group::all_present() {
  for (const Lane& lane : lanes_) {
    const Segment& segment = lane.communicator->segment();
    for (uint32_t rank = 0; rank < lane.communicator->ranks(); ++rank) {
      const bool awaited = !lane.done() && (lane.peer < 0 || lane.peer == static_cast<int32_t>(rank));
      if (!awaited || !segment.absent(rank)) continue;
      if (advance()) return false;  // it has done its part before it went
      segment.refuse_absent();
    }
  }
  return true;
}

void Group::run(const Memory& memory, ExecutionSink& sink, WaitHub& hub) {
  if (items_.empty()) return;
  wait_turn(hub);
  make_lanes(memory);
  post();
  Stream::note_entered();
  sink.injection_point(op_.header, "collective");
  finish();
  lanes_.clear();
  for (const Turn& turn : turns_) turn.communicator->collectives.pass(hub);
}

}  // namespace jitc::software
