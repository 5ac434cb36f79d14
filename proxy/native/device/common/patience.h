// Time limits of waits for other ranks. Called by: both devices.
#pragma once
#include <chrono>

namespace jitc::device {

/// Limit of a wait in seconds; 0: no limit.
class Patience {
 public:
  explicit Patience(double seconds) : seconds_(seconds), since_(std::chrono::steady_clock::now()) {}
  bool over() const {
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - since_;
    return seconds_ > 0 && waited.count() > seconds_;
  }

 private:
  const double seconds_;
  const std::chrono::steady_clock::time_point since_;
};

}  // namespace jitc::device
