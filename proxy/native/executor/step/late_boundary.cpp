#include "late_boundary.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "executor/checkpoint/checkpoints.h"
#include "executor/checkpoint/row_copies.h"
#include "executor/core/session_core.h"
#include "executor/drain/drain.h"

namespace jitc {
namespace {
/// Interval at which the device is checked for remaining work while copies are waited for.
constexpr std::chrono::milliseconds kLook{1};
}  // namespace

// -- steady blocks -------------------------------------------------------------------------------------

void SteadyBlocks::saw(std::span<const LiveRow> rows, std::span<const Hash> now) {
  std::unordered_map<uint64_t, uint64_t> times;
  for (size_t i = 0; i < rows.size(); ++i) {
    const uint64_t ordinal = rows[i].block.ordinal;
    if (now[i] == kNoHash || now[i] != rows[i].hash) continue;
    const auto before = times_.find(ordinal);
    times[ordinal] = before == times_.end() ? 1 : before->second + 1;
  }
  times_ = std::move(times);
}

bool SteadyBlocks::has(const LiveRow& row) const {
  const auto found = times_.find(row.block.ordinal);
  return found != times_.end() && found->second >= kLooks && !restless_.contains(row.block.ordinal);
}

bool LateBoundary::usable() const {
  return core_.backend->copier() && core_.backend->activity() && core_.backend->hashes_itself();
}

bool LateBoundary::learn(uint64_t step) {
  if (!usable() || checkpoints_.empty() || checkpoints_.newest().number + 1 != step) return true;
  if (!SteadyBlocks::looks_after(core_.times.boundaries)) return true;
  if (const Drained drained = drain_.await(); drained != Drained::done) return drained == Drained::circle;
  const auto& rows = checkpoints_.newest().rows;
  steady_.saw(rows, copies_.hashes_of(rows));
  return true;
}

// -- one boundary --------------------------------------------------------------------------------------

bool LateBoundary::begin(BoundaryState state, std::vector<BlockCopy> blocks) {
  if (!core_.backend->copier()->begin(blocks)) {
    copies_.drop(state.rows);
    return core_.runs();
  }
  late_.clear();
  for (const BlockCopy& one : blocks) late_.insert(one.address);
  state_ = std::move(state);
  ready_ = false;
  copying_ = std::async(std::launch::async, [this] { return wait_for_copies(); });
  return true;
}

/// Waits for copies. Runs in a thread of its own.
bool LateBoundary::wait_for_copies() {
  bool copied = false;
  {
    const PhaseTime time(core_.times.beside);
    copied = core_.backend->copier()->finish();
  }
  ready_ = true;
  core_.life.wake_dispatcher();
  return copied;
}

void LateBoundary::stop() {
  if (copying_.valid()) copying_.wait();
}

/// Waits. Returns false if the device failed. Submitted work continues meanwhile; only when that has run out
/// do copies cost time.
bool LateBoundary::await() {
  if (!ready_) core_.backend->flush();
  while (copying_.wait_for(kLook) == std::future_status::timeout)
    if (!core_.backend->activity()->under_way()) core_.times.copy += std::chrono::nanoseconds(kLook).count();
  ready_ = false;
  return copying_.get();
}

bool LateBoundary::finish() {
  if (!state_) return true;
  const bool copied = await();
  BoundaryState state = std::move(*state_);
  state_.reset();
  const bool whole = copied && core_.runs() && is_whole(state);
  if (whole && checkpoints_.record(state))
    checkpoints_.publish(std::move(state), true);
  else
    copies_.drop(state.rows);
  return core_.runs();
}

/// Returns whether the blocks still hold what was copied: then the copies are those of the boundary.
bool LateBoundary::is_whole(const BoundaryState& state) {
  std::vector<LiveRow> rows;
  std::ranges::copy_if(state.rows, std::back_inserter(rows),
                       [this](const LiveRow& row) { return late_.contains(row.block.address); });
  const auto now = copies_.hashes_of(rows);
  bool whole = true;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (now[i] == rows[i].hash) continue;
    whole = false;
    steady_.has_changed(rows[i]);
  }
  return whole && core_.runs();
}

void LateBoundary::give_up() {
  if (!state_) return;
  await();
  copies_.drop(state_->rows);
  state_.reset();
}

}  // namespace jitc
