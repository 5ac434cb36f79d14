// See step_gate.h. Here: the state kept where peers cannot be relied on, or not any more.
#include <algorithm>

#include "executor/checkpoint/checkpoints.h"
#include "executor/checkpoint/row_copies.h"
#include "executor/issue/op_issuer.h"
#include "step_gate.h"

namespace jitc {
namespace {
constexpr const char* kFromNowOn = ": from now on this GPU keeps copies of all live memory at every boundary";
}  // namespace

/// Completes the boundary. No stable block has changed yet, so copying them now makes the boundary restorable
/// without peers. Returns false if the session has to stop.
bool StepGate::keep_boundary() {
  if (checkpoints_.empty()) return true;
  BoundaryState state = checkpoints_.newest();
  if (std::ranges::all_of(state.rows, [](const LiveRow& row) { return row.copied() || !row.block.bytes; }))
    return true;
  if (!copy_rest(state)) return false;
  const std::lock_guard lock(core_.life.mutex);
  checkpoints_.replace_newest(std::move(state));
  return true;
}

/// Stops relying on peers: the newest boundary gets copies of all blocks, and so do later ones. uneven:
/// numbers of boundaries mean nothing to other ranks, either.
bool StepGate::keep_copies(const std::string& why, bool uneven) {
  if (plan().peer_mode()) core_.notice(why + kFromNowOn);
  if (plan().peer_mode() && !keep_boundary()) return false;
  if (uneven) checkpoints_.pairing.find_uneven(checkpoints_.boundaries());
  adopt_copies();
  return true;
}

void StepGate::adopt_copies() {
  Policy safer = plan();
  safer.copy_all = true;
  safer.barrier = false;
  checkpoints_.plan.adopt(std::move(safer));
}

void StepGate::leave_peers_if_uneven() {
  if (issuer_.step_shared() && !checkpoints_.pairing.uneven()) {
    leave_peers(kSharedSteps);
    checkpoints_.pairing.find_uneven(checkpoints_.boundaries());
  }
  if (!plan().peer_mode()) return;
  const auto group = core_.board.job.group(core_.request.slot, checkpoints_.peers());
  if (checkpoints_.pairing.uneven() || checkpoints_.pairing.has_uneven_peer(group)) leave_peers();
}

void StepGate::leave_peers(const std::string& why) {
  if (!plan().peer_mode()) return;
  if (!why.empty()) core_.notice(why + kFromNowOn);
  checkpoints_.pairing.find_uneven(checkpoints_.boundaries());
  adopt_copies();
}

/// Copies the other rows. Returns false if the session has to stop; a state without room for its copies stays
/// as it was. A block that has changed since the boundary gets no copy: it would hold other content.
bool StepGate::copy_rest(BoundaryState& state) {
  const BoundaryState before = state;
  std::vector<LiveRow> made;
  try {
    for (LiveRow& row : state.rows) {
      if (row.copied() || !row.block.bytes) continue;
      LiveRow now{row.block};
      if (!copies_.copy(now, 0)) return copies_.drop(made), false;
      if (now.hash != row.hash) {
        copies_.drop({now});
        continue;
      }
      made.push_back(now);
      row.copy = now.copy;
    }
  } catch (const SnapshotFull&) {
    copies_.drop(made);
    state = before;
    return true;
  }
  if (core_.journal.append_parts(RecordKind::boundary, state.number, state.pack())) return true;
  copies_.drop(made);
  state = before;
  return true;
}

}  // namespace jitc
