#include "op_issuer.h"

#include <set>

#include "backpressure.h"
#include "delivery.h"
#include "executor/journal/wire.h"
#include "executor/replay/replay.h"
#include "jitc/generated_errors.h"
#include "jitc/generated_op_traits.h"

namespace jitc {

void OpIssuer::issue(const ops::OpHeader& op) {
  if (core_.issued.in_step) note_window(op);
  if (core_.at.last_boundary && Replay::reads_what_steers(op)) ++core_.at.steering_reads;
  // Nothing runs on a stream that does not exist, so no progress covers the op.
  const uint64_t stream = wire::stream_of(op);
  const bool counts = stream == 0 || core_.issued.table.streams().contains(stream);
  if (counts) core_.progress.give(stream, op.sequence);
  core_.at.dispatched = op.sequence;
  ++core_.at.ops_executed;
  core_.issued.quiet = false;
  const ops::OpInfo* const info = ops::find(op.op);
  completed_ = {completes_synchronously(*info) ? op.sequence : 0, {}, {}};
  if (failed_before(op)) return skip(op);
  if (const auto excess = core_.issued.table.excess(op)) return refuse_excess(op, *info, *excess);
  backpressure_.promise_result(op, *info);
  const bool leaves =
      info->id == ops::OpId::communicator_destroy || info->id == ops::OpId::communicator_abort;
  if (leaves) core_.issued.table.communications().learn_ranks(*core_.backend);
  core_.backend->enqueue(op);
  // The op was refused at its call, and the client may wait for the stream to pass it.
  if (counts && info->waits && core_.results.status(op.sequence).value_or(0) != 0) skip(op);
  note_resource(op, *info);
}

/// Refuses an op with which the program would have too much of a kind (limits.h).
void OpIssuer::refuse_excess(const ops::OpHeader& op, const ops::OpInfo& info,
                             const ResourceTable::Excess& excess) {
  const std::string text =
      wire::op_name(op.op) + " (sequence " + std::to_string(op.sequence) + "): " + excess.text();
  if (!info.waits) return core_.fault(op.sequence, errors::kMemoryAllocation, "too-many", text);
  delivery_.result(op.sequence, errors::kMemoryAllocation, std::as_bytes(std::span(text)));
  skip(op);
}

/// Submits an op that does nothing in its place: progress passes it when it is its turn.
void OpIssuer::skip(const ops::OpHeader& op) {
  ops::LiveSet nothing;
  nothing.header = {sizeof(nothing), static_cast<uint16_t>(ops::OpId::live_set), 0, op.stream, op.sequence};
  core_.backend->enqueue(nothing.header);
}

/// Returns whether the op failed to make its resource when it first ran: in replay the resource must not
/// exist either, and a communicator whose ranks did not come is not waited for again. The end of a failed
/// capture does not count: it has to run.
bool OpIssuer::failed_before(const ops::OpHeader& op) const {
  const ops::Making making = ops::traits(static_cast<ops::OpId>(op.op)).making;
  const bool made_once = making == ops::Making::synchronous || making == ops::Making::with_others;
  return made_once && core_.results.status(op.sequence).value_or(0) != 0;
}

void OpIssuer::note_resource(const ops::OpHeader& op, const ops::OpInfo& info) {
  // Without an answer in its place the op was dropped or ended in a fault.
  constexpr uint32_t kDropped = 999;
  core_.issued.table.apply(op, completes_synchronously(info) ? completed_.status.value_or(kDropped) : 0,
                           completed_.payload);
  if (core_.issued.table.overflown())
    core_.fault(
        op.sequence, 801, "capture-too-large",
        wire::op_name(op.op) + ": a graph of more than 256 MiB of ops, or more than 1 GiB of ops in graphs");
  if (ops::traits(info).images) images_used_ = op.sequence;
}

void OpIssuer::pass(const ops::OpHeader& op) {
  core_.at.dispatched = op.sequence;
  ++core_.at.ops_executed;
}

/// Notes that all ops up to this one have run.
void OpIssuer::note_done(const ops::OpHeader& op) {
  core_.progress.drained(wire::stream_of(op), op.sequence);
  pass(op);
  core_.completions.progress(wire::stream_of(op), op.sequence);
}

void OpIssuer::completed(uint64_t sequence, uint32_t status, std::span<const std::byte> payload) {
  if (sequence != completed_.sequence) return;
  completed_.status = status;
  completed_.payload.assign(payload.begin(), payload.end());
}

/// Serves module images, which belong to the node, not to the device: every device's are stored here.
bool OpIssuer::serve_image(const ops::OpHeader& op) {
  images_used_ = op.sequence;
  try {
    if (static_cast<ops::OpId>(op.op) == ops::OpId::image_part) {
      const auto& part = as<ops::ImagePart>(op);
      core_.images.part(part.hash, part.total, part.offset,
                        {reinterpret_cast<const std::byte*>(&part + 1), part.bytes});
      return true;
    }
    if (!core_.images.enabled()) throw ImageError(801, "this service keeps no module images");
    const uint32_t present = has_image(as<ops::ImageQuery>(op));
    delivery_.result(op.sequence, 0, std::as_bytes(std::span(&present, 1)));
    return true;
  } catch (const ImageError& error) {
    const std::string text =
        wire::op_name(op.op) + " (sequence " + std::to_string(op.sequence) + "): " + error.what();
    if (ops::find(op.op)->waits)
      return delivery_.result(op.sequence, error.status, std::as_bytes(std::span(text))), true;
    core_.fault(op.sequence, error.status, "bad-image", text);
    return false;
  }
}

uint32_t OpIssuer::has_image(const ops::ImageQuery& query) const {
  return core_.images.has(query.hash, query.bytes);
}

void OpIssuer::release_unused_images(uint64_t sequence, const std::deque<BoundaryState>& boundaries) {
  if (!images_used_ || sequence < images_used_) return;
  images_used_ = 0;
  std::set<ImageHash> needed;
  add_images(core_.issued.table.list(*core_.backend), needed);
  for (const BoundaryState& state : boundaries) add_images(state.resources, needed);
  core_.images.hold_only(needed);
}

void OpIssuer::note_window(const ops::OpHeader& op) {
  if (wire::shares_step(op)) step_shared_ = true;
  switch (ops::traits(static_cast<ops::OpId>(op.op)).window) {
    case ops::Window::collective:
      ++core_.issued.step_collectives;
      return;
    case ops::Window::launched_collective:
      if (core_.issued.table.has_collectives(as<ops::GraphLaunch>(op).executable))
        ++core_.issued.step_collectives;
      return;
    case ops::Window::allocation:
      ++core_.issued.step_allocations;
      return;
    case ops::Window::answer:
      ++core_.issued.step_waits;
      return;
    case ops::Window::none:
      return;
  }
}

void OpIssuer::inject(const std::optional<Fault>& fault, const ops::OpHeader& op) {
  if (!fault) return;
  std::string detail = Injector::describe(*fault, &op, core_.at.last_boundary), error;
  if (fault->of_device() && !core_.backend->faults()->inject(fault->kind, op, error))
    detail = "refused: " + error;
  core_.host.fire(*fault, detail);
}

}  // namespace jitc
