// See quiesce.h.
#include "quiesce.h"

#include <unistd.h>

#include <algorithm>
#include <thread>

#include "device/standard_error.h"
#include "error.h"

namespace jitc::cuda {
namespace {
constexpr double kRestSeconds = 10;
constexpr int kExitNoRest = 70;  // EX_SOFTWARE
constexpr std::chrono::microseconds kLook{200};
}  // namespace

Quiesce::Quiesce(int ordinal, double hang_seconds)
    : ordinal_(ordinal), seconds_(hang_seconds > 0 ? std::min(kRestSeconds, hang_seconds) : kRestSeconds) {}

std::chrono::milliseconds Quiesce::limit() const {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds_ * 1000));
}

Quiesce::Clock::time_point Quiesce::until() const {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds_));
}

/// Limits the wait: the dispatcher may be inside a blocking driver call and never return.
std::unique_lock<std::mutex> Quiesce::lock(std::mutex& mutex) const {
  const auto end = until();
  std::unique_lock lock(mutex, std::try_to_lock);
  while (!lock) {
    if (Clock::now() > end) give_up_process();
    std::this_thread::sleep_for(kLook);
    (void)lock.try_lock();
  }
  return lock;
}

void Quiesce::wait_for(const Driver& driver, const std::vector<abi::CUstream>& streams) const {
  const auto end = until();
  for (const abi::CUstream stream : streams) {
    // An error means idle too: nothing runs any more on a lost device.
    while (driver.cuStreamQuery(stream) == kNotReady) {
      if (Clock::now() > end) give_up_process();
      std::this_thread::sleep_for(kLook);
    }
  }
}

void Quiesce::give_up_process() const {
  say("GPU %d does not come to rest within %g s (a hung kernel or collective): this "
      "process ends, another takes over",
      ordinal_, seconds_);
  _exit(kExitNoRest);
}

}  // namespace jitc::cuda
