// Time limits for a device to become idle. Work on the GPU can only be stopped by ending its process, which
// happens when a limit is exceeded; the service starts another one.
//
// Lock rule: none, any thread. Called by: Device::fence, DirectPath.
#pragma once
#include <chrono>
#include <mutex>
#include <vector>

#include "driver.h"

namespace jitc::cuda {

class Quiesce {
 public:
  /// Limits waits for work that may hang to the time of noticing a hang.
  Quiesce(int ordinal, double hang_seconds);

  std::chrono::milliseconds limit() const;
  /// Takes the mutex; ends the process when that takes too long.
  std::unique_lock<std::mutex> lock(std::mutex& mutex) const;
  /// Waits until the streams have done all their work; ends the process when that takes too long.
  void wait_for(const Driver& driver, const std::vector<abi::CUstream>& streams) const;
  [[noreturn]] void give_up_process() const;

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point until() const;

  const int ordinal_;
  const double seconds_;
};

}  // namespace jitc::cuda
