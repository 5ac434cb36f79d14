// See communicator.h. This part: use of a communicator by others, and its keeper's reports.
#include "communicator.h"
#include "device/cuda/driver/error.h"

namespace jitc::cuda {
namespace {
constexpr std::chrono::milliseconds kLook{20};  // longest delay in noticing that a wait takes too long

/// Returns whether the failure ends the device's run; all others are the op's own result.
bool is_fault(std::string_view cause) {
  return cause == "collective-error" || cause == "hung-collective" || cause == "sticky-error";
}
}  // namespace

/// Leaves. A join still owed its answer gets none: its program waits for it, without a handle to abort.
void Communicator::leave(uint64_t abort) {
  {
    const Lock lock(mutex_);
    if (ends_) return;
    if (abort) owed_ = abort;
    ends_ = abort != 0;
    leaving_ = true;
    changed_.notify_all();
    if (bootstrap_) bootstrap_->ring_own();
  }
  if (abort) tell_changed();
}

void Communicator::abort() {
  {
    const Lock lock(mutex_);
    aborted_ = true;
    owed_ = 0;
    changed_.notify_all();
    if (bootstrap_) bootstrap_->ring_own();
  }
  tell_changed();
}

void Communicator::cut() {
  {
    const Lock lock(mutex_);
    cut_ = true;
    changed_.notify_all();
  }
  drop();
}

bool Communicator::left_nccl(Clock::time_point until) {
  Lock lock(mutex_);
  return changed_.wait_until(lock, until, [this] { return !inside_; });
}

/// Drops NCCL's communicator, even if it is busy.
void Communicator::drop() {
  handle_.abort();
  const Lock lock(mutex_);
  inside_ = false;
  changed_.notify_all();
}

void Communicator::wake() {
  const Lock lock(mutex_);
  changed_.notify_all();
}

void Communicator::wait_ready() {
  {
    const Lock lock(mutex_);
    if (stage_ == Stage::ready) return;
    wanted_ = true;
    if (bootstrap_) bootstrap_->want();
  }
  const Waiting waiting(context_.host);
  await_ready();  // releases locks at its end: the device's mutex comes first
}

void Communicator::await_ready() {
  const Patience patience(context_.hang_seconds);
  Lock lock(mutex_);
  while (stage_ != Stage::ready && !ends_) {
    if (aborted_ || context_.given_up) throw Abandoned{};
    if (stage_ == Stage::failed) throw failure_;
    if (patience.over())
      refuse(kUnknown, "hung-collective", "not all ranks of the communicator have come in time");
    changed_.wait_for(lock, kLook);
  }
}

void Communicator::check_aborted() const {
  if (aborted_) throw Abandoned{};
}

void Communicator::check_going() const {
  if (aborted_ || leaving_) throw Abandoned{};
}

void Communicator::become(Stage stage, const OpError& failure) {
  const Lock lock(mutex_);
  stage_ = stage;
  failure_ = failure;
  changed_.notify_all();
}

/// Fails a communicator that was not ready: the end of a ready one is up to the fence.
void Communicator::fail(const OpError& error) {
  {
    const Lock lock(mutex_);
    if (stage_ != Stage::ready) stage_ = Stage::failed;
    failure_ = error;
    changed_.notify_all();
    if (aborted_) return;
  }
  if (is_fault(error.cause))
    context_.host.communicator_fault(last_sequence_, error.status, error.cause, error.message);
  else
    deliver(error.status, std::as_bytes(std::span(error.message)));
}

void Communicator::deliver(uint32_t status, std::span<const std::byte> payload) {
  {
    const Lock lock(mutex_);
    const uint64_t sequence = owed_.exchange(0);
    if (sequence && !aborted_) context_.sink.result(sequence, status, payload);
  }
  tell_changed();
}

void Communicator::tell_changed() {
  const Lock lock(context_.mutex);
  context_.changed.notify_all();
}

}  // namespace jitc::cuda
