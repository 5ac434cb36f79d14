// How long a device may take to come to rest, and what happens when it does not: what runs on the GPU cannot
// be stopped but by the end of its process, and the service starts another one.
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
  /// Work that may hang is not waited for longer than it would take to notice.
  Quiesce(int ordinal, double hang_seconds);

  std::chrono::milliseconds limit() const;
  /// Takes the mutex; ends the process when that takes too long.
  std::unique_lock<std::mutex> lock(std::mutex& mutex) const;
  /// Until the streams have done all their work; ends the process when that takes too long.
  void wait_for(const Driver& driver, const std::vector<abi::CUstream>& streams) const;
  [[noreturn]] void give_up_process() const;

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point until() const;

  const int ordinal_;
  const double seconds_;
};

}  // namespace jitc::cuda
