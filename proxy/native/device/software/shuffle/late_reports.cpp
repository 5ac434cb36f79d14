// See late_reports.h.
#include "late_reports.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "held_streams.h"

namespace jitc::software {
using Choice = Shuffle::Choice;

// -- the line --------------------------------------------------------------------------------------------

/// Queues the report. False: nothing waits and the report is not late, so the caller sends it.
bool LateReports::wait_in_line(Shuffle::Delay delay, std::function<void()> say) {
  const std::lock_guard lock(mutex_);
  if (delay == Shuffle::Delay(0) && waiting_.load() == 0) return false;
  Clock::time_point due = Clock::now() + delay;
  if (!line_.empty()) due = std::max(due, line_.back().due);
  line_.push_back({due, std::move(say)});
  waiting_.fetch_add(1);
  later_.at(due, [this, due] { say_until(due); });
  return true;
}

void LateReports::say_until(Clock::time_point time) {
  const std::lock_guard turn(saying_);
  for (;;) {
    std::function<void()> say;
    {
      const std::lock_guard lock(mutex_);
      if (line_.empty() || line_.front().due > time) return;
      say = std::move(line_.front().say);
      line_.pop_front();
    }
    say();
    waiting_.fetch_sub(1);
    hub_.changed();
  }
}

void LateReports::drop() {
  const std::lock_guard turn(saying_);
  const std::lock_guard lock(mutex_);
  line_.clear();
  waiting_.store(0);
}

// -- reports ---------------------------------------------------------------------------------------------

void LateReports::result(uint64_t sequence, uint32_t status, std::span<const std::byte> payload) {
  if (!HeldStreams::in_op()) {
    say_until(Clock::time_point::max());
    return sink_.result(sequence, status, payload);
  }
  const auto delay = shuffle_.draw(Choice::answer, 0, sequence);
  std::vector<std::byte> kept(payload.begin(), payload.end());
  const auto say = [this, sequence, status, kept = std::move(kept)] { sink_.result(sequence, status, kept); };
  if (!wait_in_line(delay, say)) sink_.result(sequence, status, payload);
}

void LateReports::progress(uint64_t stream, uint64_t sequence) {
  const auto delay = shuffle_.draw(Choice::progress, stream, sequence);
  const auto say = [this, stream, sequence] { sink_.progress(stream, sequence); };
  if (!wait_in_line(delay, say)) say();
}

void LateReports::fault(uint64_t sequence, uint32_t status, std::string_view cause,
                        std::string_view message) {
  say_until(Clock::time_point::max());
  sink_.fault(sequence, status, cause, message);
}

// -- pauses ----------------------------------------------------------------------------------------------

void LateReports::injection_point(const ops::OpHeader& op, std::string_view phase) {
  pause(shuffle_.draw(Choice::middle, op.stream, op.sequence));
  sink_.injection_point(op, phase);
}

void LateReports::pause(Shuffle::Delay delay) {
  if (delay == Shuffle::Delay(0)) return;
  std::unique_lock lock(mutex_);
  pausing_.wait_for(lock, delay, [this] { return given_up_; });
}

void LateReports::give_up() {
  const std::lock_guard lock(mutex_);
  given_up_ = true;
  pausing_.notify_all();
}

void LateReports::restart() {
  const std::lock_guard lock(mutex_);
  given_up_ = false;
}

}  // namespace jitc::software
