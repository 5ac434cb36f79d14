#include "session_core.h"

#include "executor/results/lookup.h"

namespace jitc {
namespace {

std::shared_ptr<BoardBudget> open_budget(const NodeBoard& board, const SessionRequest& request,
                                         const DeviceOptions& options) {
  if (request.slot >= NodeBoard::kSlots) throw Error("the board has no slot " + std::to_string(request.slot));
  return std::make_shared<BoardBudget>(board, request.slot, options.gpu, request.rebuild);
}

std::shared_ptr<GpuTurn> open_turn(const NodeBoard& board, const SessionRequest& request,
                                   const DeviceOptions& options) {
  auto turn = std::make_shared<GpuTurn>(board, request.board_path, request.slot, options.gpu, request.guest);
  return turn->usable() ? turn : nullptr;
}
}  // namespace

SessionCore::SessionCore(const SessionRequest& request, const DeviceOptions& options, Host& host)
    : request(request),
      options(options),
      host(host),
      journal(request.journal, request.spill, request.rebuild),
      board(request.board_path),
      budget(open_budget(board.node, request, options)),
      turn(open_turn(board.node, request, options)),
      snapshot(request.snapshot_path, request.snapshot_bytes, board.node, request.slot),
      pinned(request.pinned),
      images(options.images, request.session, request.rebuild),
      progress(pinned.range()),
      completions(result_reader(journal),
                  // Without the record a replay might be out of order.
                  [this](std::span<const StreamProgress> reported) {
                    if (!journal.append(RecordKind::reported, 0, {std::as_bytes(reported)}))
                      journal_full = true;
                  }),
      life(request.rebuild ? Lifecycle::State::fenced : Lifecycle::State::running, request.epoch),
      issued(images) {}

void SessionCore::fault(uint64_t sequence, uint32_t status, std::string_view cause,
                        std::string_view message) {
  if (!life.accepting) return;  // before the lock: a fence that waits for this thread may hold it
  {
    const std::lock_guard lock(life.mutex);
    if (!runs() || !life.accepting) return;
    life.accepting = false;
    life.state = Lifecycle::State::faulted;
    life.changed.notify_all();
  }
  board.job.ring();
  host.report_fault(request.session, sequence, status, std::string(cause), std::string(message));
}

void SessionCore::stop_backend(Lifecycle::Lock& lock) {
  life.accepting = false;
  life.state = Lifecycle::State::fenced;
  life.changed.notify_all();
  lock.unlock();
  backend->fence();
  results.drop_promises();
  lock.lock();
}

void SessionCore::start() {
  if (Aborts* const aborts = backend->aborts())
    aborts->expect_aborts(known_aborts(journal, at.cursor), at.dispatched);
  backend->unfence();
  life.accepting = true;
  life.state = Lifecycle::State::running;
  life.work.notify_one();
  life.changed.notify_all();
}

void SessionCore::notice(const std::string& text) {
  const std::lock_guard lock(life.mutex);
  if (completions.attached())
    completions.completion(CompletionKind::notice, 0, 0, std::as_bytes(std::span(text)));
  else
    notices_.push_back(text);
}

void SessionCore::repeat_notices(bool with_end) {
  for (const std::string& text : notices_)
    completions.completion(CompletionKind::notice, 0, 0, std::as_bytes(std::span(text)));
  notices_.clear();
  if (with_end && life.state == Lifecycle::State::over)
    completions.completion(CompletionKind::fault, life.over_status, 0,
                           std::as_bytes(std::span(life.over_message)));
}

}  // namespace jitc
