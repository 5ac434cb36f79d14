// Ops that never end: injected ones, and noticing them. See device.h.
//
// A stalled op keeps the thread that gives ops to the device; to everybody else that is a device that stands
// still at this op, which for a collective means a rank that does not come.
#include "device/software/device/device.h"

namespace jitc::software {
namespace {
constexpr uint32_t kLaunchTimeout = 702;  // cudaErrorLaunchTimeout
}

std::string Device::cannot_inject(std::string_view kind) const {
  if (kind == "endless-kernel" || kind == "hung-collective") return {};
  return "the software device has no kernels that could do that; its illegal access is sticky-error";
}

bool Device::inject(std::string_view kind, const ops::OpHeader& op, std::string& error) {
  error = cannot_inject(kind);
  if (error.empty()) stall_at_.store(op.sequence);
  return error.empty();
}

/// Until a fence or fault.
void Device::stall(const ops::OpHeader& op) {
  {
    const std::lock_guard lock(watch_mutex_);
    stalled_ = {op.sequence, op.op == static_cast<uint16_t>(ops::OpId::collective)};
  }
  hub_.wait([] { return false; });
  const std::lock_guard lock(watch_mutex_);
  stalled_.reset();
  throw Abandoned{};
}

void Device::watch(const StreamPointer& stream) {
  const std::lock_guard lock(watch_mutex_);
  std::erase_if(watched_, [](const auto& one) { return one.expired(); });
  watched_.push_back(stream);
}

std::optional<HangWatch::Running> Device::oldest_running() {
  std::vector<StreamPointer> streams;  // goes after the lock: this may be the last that holds one
  const std::lock_guard lock(watch_mutex_);
  std::optional<HangWatch::Running> oldest = stalled_;
  for (const auto& one : watched_)
    if (const auto& stream = streams.emplace_back(one.lock()))
      if (const auto running = stream->running();
          running && (!oldest || running->sequence < oldest->sequence))
        oldest = running;
  return oldest;
}

void Device::hung(HangWatch::Running op) {
  const std::lock_guard lock(watch_mutex_);
  State expected = State::running;
  if (!state_.compare_exchange_strong(expected, State::faulted)) return;
  give_up();
  sink_.fault(op.sequence, kLaunchTimeout, op.collective ? "hung-collective" : "hung-kernel",
              "op " + std::to_string(op.sequence) + " made no progress for too long (--hang-seconds)");
}

}  // namespace jitc::software
