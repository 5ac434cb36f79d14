// The dispatcher: reads ops at the cursor in the journal and gives them to the back end.
#include <utility>

#include "base/error.h"
#include "executor/journal/wire.h"
#include "jitc/generated_op_traits.h"
#include "jitc/limits.h"
#include "session.h"

namespace jitc {
namespace {
constexpr uint32_t kOutOfMemory = 2;  // cudaErrorMemoryAllocation
}

void Session::dispatch_loop() {
  Lock lock(mutex_);
  for (;;) {
    parked_ = true;
    changed_.notify_all();
    asleep_.store(true);
    std::atomic_thread_fence(
        std::memory_order_seq_cst);  // with wake_dispatcher: one of the two sees the other
    work_.wait(lock, [this] { return stop_ || drain_ || (runs() && has_work()); });
    asleep_.store(false);
    if (stop_) return;
    parked_ = false;
    if (runs()) {
      lock.unlock();
      run_ops();
      lock.lock();
    }
    if (!drain_) continue;
    lock.unlock();
    settle();
    lock.lock();
    drain_ = false;
  }
}

bool Session::has_work() const { return cursor_ < journal_.tail() || shed_wanted_ || boundary_to_make_; }

void Session::run_ops() {
  if (boundary_to_make_ && !make_imported_boundary()) return;
  while (runs()) {
    if (!wait_until_read()) return;
    if (shed_wanted_) shed();
    if (memory_reserved_ && !hold_at_ && cursor_ >= past_) settle_memory();
    uint64_t position = cursor_;
    const RecordHeader* const record = journal_.at(position);
    if (!record) return backend_->flush();
    if (!take(*record)) return;  // not done: it comes again when the session goes on
    cursor_ = Journal::after(*record);
    if (hold_reached_) return hold_here();
  }
}

bool Session::take(const RecordHeader& record) {
  if (record.kind != RecordKind::op) return record.position >= past_ || await_told(record);
  try {
    return dispatch(record);
  } catch (const std::exception& error) {
    fault(record.sequence, 999, "worker-error", error.what());
    return false;
  }
}

/// FinishStep: the boundary is made, nothing after it may run.
void Session::hold_here() {
  Lock lock(mutex_);
  hold_reached_ = false;
  if (runs()) stop_backend(lock);
}

bool Session::dispatch(const RecordHeader& record) {
  const auto& op = *reinterpret_cast<const ops::OpHeader*>(record.payload().data());
  inject(injector_.at_op(op, last_boundary_), op);
  if (!runs()) return false;
  switch (ops::traits(static_cast<ops::OpId>(op.op)).taker) {
    case ops::Taker::live_set:
      return at_live_set(as<ops::LiveSet>(op));
    case ops::Taker::step_begin:
      return at_step_begin(as<ops::StepBegin>(op));
    case ops::Taker::boundary:
      return at_boundary(as<ops::Boundary>(op), record.position);
    case ops::Taker::images:
      if (!serve_image(op)) return false;
      break;
    case ops::Taker::device:
      break;
  }
  enqueue(op);
  return true;
}

void Session::enqueue(const ops::OpHeader& op) {
  if (in_step_) note_window(op);
  if (last_boundary_ && reads_what_steers(op)) ++steering_reads_;
  // On a stream that does not exist nothing runs, so that no progress can tell of it.
  const uint64_t stream = wire::stream_of(op);
  const bool counts = stream == 0 || table_.streams().contains(stream);
  const uint64_t given_before = counts ? progress_.give(stream, op.sequence) : 0;
  dispatched_ = op.sequence;
  ++ops_executed_;
  quiet_ = false;
  const ops::OpInfo* const info = ops::find(op.op);
  answer_ = {answered_in_place(*info) ? op.sequence : 0, {}, {}};
  if (failed_before(op)) return skip(op);
  if (const auto excess = table_.excess(op)) return refuse_excess(op, *info, *excess);
  promise_result(op, *info);
  backend_->enqueue(op);
  if (counts && info->waits && results_.status(op.sequence).value_or(0) != 0)
    progress_.take_back(stream, given_before);  // no progress will tell of it
  note_resource(op, *info);
}

/// The program has too much of a kind (limits.h).
void Session::refuse_excess(const ops::OpHeader& op, const ops::OpInfo& info,
                            const ResourceTable::Excess& excess) {
  const std::string text =
      wire::op_name(op.op) + " (sequence " + std::to_string(op.sequence) + "): " + excess.text();
  if (!info.waits) return fault(op.sequence, kOutOfMemory, "too-many", text);
  result(op.sequence, kOutOfMemory, std::as_bytes(std::span(text)));
  skip(op);
}

/// In its place the back end gets an op that does nothing: progress passes it when it is its turn.
void Session::skip(const ops::OpHeader& op) {
  ops::LiveSet nothing;
  nothing.header = {sizeof(nothing), static_cast<uint16_t>(ops::OpId::live_set), 0, op.stream, op.sequence};
  backend_->enqueue(nothing.header);
}

/// What could not be made was answered so: in replay it must not be there either, and a communicator whose
/// ranks did not come is not waited for again. The end of a capture that failed is no such case, it has to
/// come.
bool Session::failed_before(const ops::OpHeader& op) const {
  const ops::Making making = ops::traits(static_cast<ops::OpId>(op.op)).making;
  const bool made_once = making == ops::Making::in_place || making == ops::Making::with_others;
  return made_once && results_.status(op.sequence).value_or(0) != 0;
}

void Session::note_resource(const ops::OpHeader& op, const ops::OpInfo& info) {
  // Without an answer in its place the op was dropped or ended in a fault.
  constexpr uint32_t kDropped = 999;
  table_.apply(op, answered_in_place(info) ? answer_.status.value_or(kDropped) : 0, answer_.payload);
  if (table_.overflown())
    fault(
        op.sequence, 801, "capture-too-large",
        wire::op_name(op.op) + ": a graph of more than 256 MiB of ops, or more than 1 GiB of ops in graphs");
  if (ops::traits(info).images) images_used_ = op.sequence;
  if (info.id != ops::OpId::communicator_create) return;
  const auto& made = as<ops::CommunicatorCreate>(op);
  if (made.ranks > 1) board_.join(request_.slot, made.unique_id);
}

/// Module images are the node's, not the device's: whatever executes, they are taken and found here.
bool Session::serve_image(const ops::OpHeader& op) {
  images_used_ = op.sequence;
  try {
    if (static_cast<ops::OpId>(op.op) == ops::OpId::image_part) {
      const auto& part = as<ops::ImagePart>(op);
      images_.part(part.hash, part.total, part.offset,
                   {reinterpret_cast<const std::byte*>(&part + 1), part.bytes});
      return true;
    }
    if (!images_.enabled()) throw ImageError(801, "this service keeps no module images");
    const uint32_t present = has_image(as<ops::ImageQuery>(op));
    result(op.sequence, 0, std::as_bytes(std::span(&present, 1)));
    return true;
  } catch (const ImageError& error) {
    const std::string text =
        wire::op_name(op.op) + " (sequence " + std::to_string(op.sequence) + "): " + error.what();
    if (ops::find(op.op)->waits)
      return result(op.sequence, error.status, std::as_bytes(std::span(text))), true;
    fault(op.sequence, error.status, "bad-image", text);
    return false;
  }
}

uint32_t Session::has_image(const ops::ImageQuery& query) { return images_.has(query.hash, query.bytes); }

/// All ops up to sequence are over for good: images that only they needed can go.
void Session::release_unused_images(uint64_t sequence) {
  if (!images_used_ || sequence < images_used_) return;
  images_used_ = 0;
  std::set<ImageHash> needed;
  add_images(table_.list(*backend_), needed);
  for (const BoundaryState& state : boundaries_) add_images(state.resources, needed);
  images_.hold_only(needed);
}

void Session::note_window(const ops::OpHeader& op) {
  switch (ops::traits(static_cast<ops::OpId>(op.op)).window) {
    case ops::Window::collective:
      ++step_collectives_;
      return;
    case ops::Window::launched_collective:
      if (table_.has_collectives(as<ops::GraphLaunch>(op).executable)) ++step_collectives_;
      return;
    case ops::Window::allocation:
      ++step_allocations_;
      return;
    case ops::Window::answer:
      ++step_waits_;
      return;
    case ops::Window::none:
      return;
  }
}

void Session::inject(const std::optional<Fault>& fault, const ops::OpHeader& op) {
  if (!fault) return;
  std::string detail = Injector::describe(*fault, &op, last_boundary_), error;
  if (fault->of_device() && !backend_->inject(fault->kind, op, error)) detail = "refused: " + error;
  host_.fire(*fault, detail);
}

void Session::injection_point(const ops::OpHeader& op, std::string_view phase) {
  inject(injector_.at_point(op, phase, last_boundary_), op);
}

/// A recovery begins: what the session holds on the GPU stays its own until the replay has it again.
void Session::reserve_memory() {
  budget_->reserve();
  memory_reserved_ = true;
}

void Session::settle_memory() {
  memory_reserved_ = false;
  budget_->settle();
}

/// Runs what was given to the back end, so that a step can be finished later from exactly here.
void Session::settle() { quiet_ = backend_->idle(); }

/// The journal is full (or what is known of results is too much) and no boundary will free it: it becomes a
/// mere queue.
void Session::shed() {
  if (results_.count() > limits::kResults)
    return forget_all("more than " + std::to_string(limits::kResults) + " results since the last boundary",
                      "");
  forget_all("the journal of this GPU is full (" + std::to_string(journal_.capacity() >> 20) +
                 " MiB with its spill file)",
             "--journal-limit");
}

/// The job goes on without anything to go back to. Loudly, and until the next boundary.
void Session::forget_all(const std::string& why, const std::string& option) {
  if (!backend_->idle()) return;
  outbox_.take_in();
  results_.take_in([this](uint64_t position, size_t size) { return result_bytes(position, size); },
                   limits::kPendingResults + limits::kUnreadResults);  // more than is ever on the way
  if (protected_.exchange(false))
    notice(why + ": until the next boundary a fault cannot be recovered" +
           (option.empty() ? "" : ". Give the service more with jitc-proxyd " + option));
  Lock lock(mutex_);
  journal_.set_first_boundary(last_boundary_ + 1);
  for (const BoundaryState& state : boundaries_) drop_boundary(state);
  boundaries_.clear();
  drop_step();
  journal_.truncate(cursor_);
  results_.forget(dispatched_);
  shed_wanted_ = false;
  changed_.notify_all();
}

}  // namespace jitc
