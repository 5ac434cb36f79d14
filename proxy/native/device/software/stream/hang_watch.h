// Detects an op that never ends: a thread checks the oldest running op now and then.
//
// An op waits only for ops submitted before it, so the oldest running one waits for no op of this device.
// Promises: hung is called at most once per op, from the watch's thread, never after the destructor; no
// thread without a time limit. Called by: Device.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "device/aspects.h"

namespace jitc::software {

class HangWatch {
 public:
  using Running = UnderWay;

  /// oldest: returns the longest-running op, if any. seconds: 0 is never.
  HangWatch(double seconds, std::function<std::optional<Running>()> oldest,
            std::function<void(Running)> hung);
  ~HangWatch();
  /// Restarts the time of the running op.
  void restart() { restarted_.store(true); }
  HangWatch(const HangWatch&) = delete;
  HangWatch& operator=(const HangWatch&) = delete;

 private:
  void loop();

  const double seconds_;
  const std::function<std::optional<Running>()> oldest_;
  const std::function<void(Running)> hung_;
  std::mutex mutex_;
  std::condition_variable stopping_;
  bool stop_ = false;
  std::atomic<bool> restarted_{false};
  std::thread thread_;
};

}  // namespace jitc::software
