// Advances to the next boundary without running the step; a peer ran it and supplies what it changed.
//
// Blocks that only this rank has come from their pre-step copies; ops of the step are examined, not run.
// Blocks that other ranks have too were the same there before the step, which the service compares: equal
// content and the same step yield equal content.
#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "executor/checkpoint/checkpoints.h"
#include "executor/issue/delivery.h"
#include "executor/issue/op_issuer.h"
#include "executor/journal/wire.h"
#include "executor/results/lookup.h"
#include "executor/step/boundary_maker.h"
#include "executor/step/step_gate.h"
#include "jitc/generated_op_traits.h"
#include "restorer.h"

namespace jitc {
namespace {

/// Returns the block as it was when the step was about to begin, with a copy of that content if there is one.
/// Without a hash the content is unknown. classified: then a block that is not in the step's record was as at
/// the boundary.
LiveRow before_step(const LiveRow& wanted, const BoundaryState* base, const StepState* step,
                    bool classified) {
  const auto find = [&](const std::vector<LiveRow>& rows) -> const LiveRow* {
    const auto found = std::ranges::find_if(rows, [&](const LiveRow& row) {
      return row.block.ordinal == wanted.block.ordinal && row.same_place(wanted);
    });
    return found == rows.end() ? nullptr : &*found;
  };
  const LiveRow* const kept = base ? find(base->rows) : nullptr;
  const LiveRow* known = step ? find(step->rows) : nullptr;
  if (step && !known && classified) known = kept;
  if (!known) return wanted;
  LiveRow row{wanted.block};
  row.hash = known->hash;
  row.copy = known->copy;
  if (!row.copied() && kept && kept->hash == row.hash) row.copy = kept->copy;
  return row;
}

RecoverReply refused(std::string why) { return {false, std::move(why), 0, {}}; }
}  // namespace

RecoverReply Restorer::skip_step(uint64_t boundary, uint32_t timeout_ms, uint64_t epoch) {
  if (boundary == 0) throw Error("SkipStep needs a boundary");
  {
    const std::lock_guard lock(core_.life.mutex);
    core_.life.require_fenced("SkipStep");
    core_.life.begin_command(epoch);
  }
  if (parts_.checkpoints.find(boundary)) return roll_back(boundary, epoch);
  if (boundary - 1 != 0 && !parts_.checkpoints.find(boundary - 1))
    return refused("boundary " + std::to_string(boundary - 1) + " is not kept here");
  const RecordHeader* const op = wait_for_boundary_op(boundary, timeout_ms, epoch);
  if (!op) return refused("the program did not get to boundary " + std::to_string(boundary) + " in time");

  const std::lock_guard lock(core_.life.mutex);
  core_.life.require_fenced("SkipStep");
  core_.life.begin_command(epoch);
  if (const std::string damage = core_.journal.damage(); !damage.empty()) return refused(damage);
  return skip_to(*op);
}

const RecordHeader* Restorer::wait_for_boundary_op(uint64_t boundary, uint32_t timeout_ms, uint64_t epoch) {
  Lifecycle& life = core_.life;
  {
    Lifecycle::Lock lock(life.mutex);
    life.changed.wait_for(lock, std::chrono::milliseconds(timeout_ms), [&] {
      return core_.at.boundary_received >= boundary || life.stop || life.outdated(epoch);
    });
  }
  return find_boundary_op(core_.journal, boundary);
}

/// Skips the step that ends with this op.
RecoverReply Restorer::skip_to(const RecordHeader& boundary_op) {
  const auto& op = as<ops::Boundary>(op_of(boundary_op));
  const std::optional<StepState> step = parts_.checkpoints.step();
  const BoundaryState* const base = parts_.checkpoints.find(op.boundary - 1);
  RecoverReply reply = restore_to(base);
  if (!reply.complete && reply.missing.empty()) return reply;
  ResourceTable table = core_.issued.table;
  std::string why;
  if (!skip_ops(core_.at.cursor, boundary_op.position, table, why)) return refused(why);
  std::string error;
  const Resources resources = table.list(*core_.backend);
  if (!core_.backend->restore(resources, error)) return refused(error);
  core_.issued.table = table;
  if (const Resources::Variable* const variable = unsettled_variable(resources, base))
    return refused("the device variable " + variable->name +
                   " is new or changes: only running the step gives its content");
  reply = restore_skipped(op, base, step && step->step == op.boundary ? &*step : nullptr);
  if (!reply.complete && reply.missing.empty()) return reply;
  go_on_after(boundary_op, resources);
  return reply;
}

/// Restores what only this rank has. Blocks of other ranks are missing in the reply; a block that cannot be
/// had ends the attempt.
RecoverReply Restorer::restore_skipped(const ops::Boundary& op, const BoundaryState* base,
                                       const StepState* step) {
  const Plan::Pointer plan = parts_.checkpoints.plan.wanted();
  std::vector<LiveRow> own, replicated;
  const auto* const blocks = reinterpret_cast<const ops::LiveBlock*>(&op + 1);
  for (uint64_t i = 0; i < op.count; ++i) {
    if (!blocks[i].bytes) continue;
    const LiveRow row = before_step(LiveRow{blocks[i]}, base, step, plan->classified(blocks[i].ordinal));
    const bool elsewhere = plan->has_replica(blocks[i].ordinal);
    if (elsewhere ? row.hash == kNoHash : !row.copied())
      return refused("a block of " + std::to_string(blocks[i].bytes) + " bytes that " +
                     (elsewhere ? "other ranks have, too, is not known as it was before the step"
                                : "no other rank is known to have has no copy from before the step"));
    (elsewhere ? replicated : own).push_back(row);
  }
  RecoverReply reply;
  restore_copies(own, reply);
  put_in_place(replicated, reply);
  note_missing(reply.missing);
  reply.complete = reply.missing.empty();
  return reply;
}

/// Puts blocks in place. Only ranks that have run the step know whether it changes them. So they are missing,
/// with their hashes before the step; a copy of that content is put in place, in case the step does not
/// change them.
void Restorer::put_in_place(std::vector<LiveRow> replicated, RecoverReply& reply) {
  std::vector<LiveRow> copies;
  std::ranges::copy_if(replicated, std::back_inserter(copies), &LiveRow::copied);
  RecoverReply placed;
  restore_copies(copies, placed);
  reply.bytes += placed.bytes;
  for (LiveRow& row : replicated) {
    const auto is_it = [&](const LiveRow& damaged) { return damaged.same_place(row); };
    if (std::ranges::any_of(placed.missing, is_it)) row.copy = LiveRow::kNoCopy;
    row.before = std::exchange(row.hash, kNoHash);
    reply.missing.push_back(row);
  }
}

void Restorer::go_on_after(const RecordHeader& boundary_op, const Resources& resources) {
  const ops::OpHeader& op = op_of(boundary_op);
  core_.at.cursor = Journal::after(boundary_op);
  parts_.issuer.note_done(op);
  core_.progress.raise_floor(op.sequence);
  for (const auto& stream : resources.streams) core_.completions.progress(stream.handle, op.sequence);
  parts_.boundaries.import_at(boundary_op.position);
}

bool Restorer::skip_ops(uint64_t from, uint64_t to, ResourceTable& table, std::string& why) {
  for (uint64_t position = from; const RecordHeader* const record = core_.journal.at(position);) {
    if (position >= to) return true;
    position = Journal::after(*record);
    if (record->kind != RecordKind::op) continue;
    const ops::OpHeader& op = op_of(*record);
    const ops::OpInfo& info = *ops::find(op.op);
    if (wire::shares_step(op)) return why = wire::kSharedStep, false;
    if (info.waits && !skip_result(op)) {
      why = wire::op_name(op.op) + " (sequence " + std::to_string(op.sequence) +
            ") waits for a result that only running it gives";
      return false;
    }
    if (ops::traits(info).taker == ops::Taker::images && !info.waits && !parts_.issuer.serve_image(op))
      return why = "a module image did not come whole", false;
    table.apply(op, core_.results.status(op.sequence).value_or(0),
                ops::traits(info).result_is_state ? known_payload(core_.journal, op.sequence)
                                                  : std::vector<std::byte>{});
    if (info.id == ops::OpId::communicator_split)
      table.communications().learn_rank(as<ops::CommunicatorSplit>(op).handle,
                                        known_payload(core_.journal, op.sequence));
  }
  return true;
}

/// Skips an op with a result. Returns false if only running the op yields its result.
bool Restorer::skip_result(const ops::OpHeader& op) {
  if (core_.results.known(op.sequence)) return true;
  switch (ops::traits(static_cast<ops::OpId>(op.op)).skipped) {
    case ops::Skipped::asks_images: {
      const uint32_t present = parts_.issuer.has_image(as<ops::ImageQuery>(op));
      parts_.delivery.give(op.sequence, 0, std::as_bytes(std::span(&present, 1)));
      return true;
    }
    case ops::Skipped::succeeds:
      parts_.delivery.give(op.sequence, 0, {});
      return true;
    case ops::Skipped::must_run:
      return false;
  }
  return false;
}

}  // namespace jitc
