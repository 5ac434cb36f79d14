// See hangs.h.
#include "hangs.h"

#include <algorithm>
#include <string>

#include "device/software/errors/error.h"

namespace jitc::software {

Hangs::Hangs(WaitHub& hub, device::RunState& state, const device::Residency& residency, double hang_seconds)
    : hub_(hub),
      state_(state),
      residency_(residency),
      hang_watch_(hang_seconds, [this] { return oldest_running(); }, [this](auto op) { report(op); }) {}

void Hangs::stall(const ops::OpHeader& op) {
  {
    const std::lock_guard lock(mutex_);
    stalled_ = {op.sequence, op.op == static_cast<uint16_t>(ops::OpId::collective)};
  }
  hub_.wait([] { return false; });
  const std::lock_guard lock(mutex_);
  stalled_.reset();
  throw Abandoned{};
}

void Hangs::watch(const std::shared_ptr<Stream>& stream) {
  const std::lock_guard lock(mutex_);
  std::erase_if(watched_, [](const auto& one) { return one.expired(); });
  watched_.push_back(stream);
}

std::optional<HangWatch::Running> Hangs::oldest_running() {
  std::vector<std::shared_ptr<Stream>> streams;  // destroyed after the lock: this may hold the last reference
  const std::lock_guard lock(mutex_);
  std::optional<HangWatch::Running> oldest = stalled_;
  for (const auto& one : watched_)
    if (const auto& stream = streams.emplace_back(one.lock()))
      if (const auto running = stream->running();
          running && (!oldest || running->sequence < oldest->sequence))
        oldest = running;
  if (oldest && !stalled_) residency_.add_turns_to(*oldest);
  return oldest;
}

void Hangs::report(HangWatch::Running op) {
  const std::lock_guard lock(mutex_);
  state_.fault(op.sequence, kLaunchTimeout, op.collective ? "hung-collective" : "hung-kernel",
               "op " + std::to_string(op.sequence) + " made no progress for too long (--hang-seconds)");
}

void Hangs::fence() {
  {
    const std::lock_guard told(mutex_);  // report() is over, or will find nothing running
  }
  impairment.clear();
}

}  // namespace jitc::software
