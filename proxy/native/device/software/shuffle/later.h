// Runs actions at a later time, in a thread of its own.
//
// Promises: actions run one at a time, never before their time, those of one time in their order of arrival;
// after drop() no earlier action runs. Called by: LateReports, HeldStreams (any thread).
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace jitc::software {

class Later {
 public:
  using Clock = std::chrono::steady_clock;
  using Action = std::function<void()>;

  Later();
  ~Later();
  Later(const Later&) = delete;
  Later& operator=(const Later&) = delete;

  void at(Clock::time_point time, Action action);
  /// Drops all actions, and waits for the running one. Must not be called from an action.
  void drop();

 private:
  void loop();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<Clock::time_point, Action> actions_;
  bool runs_ = false, stop_ = false;
  std::thread thread_;
};

}  // namespace jitc::software
