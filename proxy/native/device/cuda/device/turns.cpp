// The device's part in turns at its GPU (device/common/turns/residency.h): whether it is idle, what it waits
// for, memory that others must make room for. See device.h.
#include "device.h"

namespace jitc::cuda {

/// Returns whether the GPU has work; without the mutex, whose holder may be about to submit some.
bool Device::busy() {
  if (at_rest_) return false;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || !state_.running() || context_->bind() != 0) return true;
  try {
    streams_.mark_all();
  } catch (const OpError&) {
    return true;
  }
  return !streams_.all_idle() || access_.copies().under_way();
}

/// Restarts a collective, after a fault, as sessions that take turns do it: the turn at the GPU is over, and
/// the work does not end. It was begun before sessions took turns, and the rank that it waits for may need
/// the GPU.
void Device::stuck() {
  const auto work = poller_.under_way();
  const uint64_t at = families_.collectives.at();
  if (!at && !(work && work->collective)) return;
  residency_.expect_turns();
  state_.fault(
      at ? at : work->sequence, kUnknown, "collective-error",
      "sessions must take turns at GPU " + std::to_string(options_.ordinal) + ", a collective was under way");
}

/// Requires a use.
bool Device::restore_memory(const Resources& resources, std::string& error) {
  if (!residency_.shares()) return memory_->restore(resources, error);
  uint64_t missing = 0;
  while (!memory_->restore(resources, error, missing))
    if (!missing || !Residency::Use::current()->make_room(missing)) return false;
  return true;
}

}  // namespace jitc::cuda
