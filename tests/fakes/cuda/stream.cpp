// A stream's queue and thread. See context.h.
#include "../common/call_log.h"
#include "call.h"
#include "context.h"

namespace jitc::fakes {

thread_local bool in_host_function = false;

/// The thread starts with the first work, because programs make many streams and use few.
MarkerPointer Stream::push(Work work) {
  last = work.marker;
  if (context_.pace) work.submitted = context_.pace->now();
  queue_.push_back(std::move(work));
  if (!served_) {
    served_ = true;
    std::thread([self = shared_from_this(), context = context_.shared_from_this()] {
      self->serve(context);
    }).detach();
  }
  pushed_.notify_one();
  return last;
}

void Stream::serve(ContextPointer context) {
  Work work;
  while (take(work)) run(work);
  (void)context;  // kept alive until here
}

/// False when there is nothing more to do: the context is over, or the stream is destroyed and empty.
bool Stream::take(Work& work) {
  std::unique_lock lock(Driver::instance().mutex);
  pushed_.wait(lock, [this] { return context_.ended || closed || !queue_.empty(); });
  if (context_.ended || queue_.empty()) return false;
  work = std::move(queue_.front());
  queue_.pop_front();
  return true;
}

/// When all that the work comes after is done.
void Stream::book(Work& work) {
  if (!context_.pace) return;
  const Cost cost = work.price ? work.price() : Cost{};
  work.counts = cost.engine == Cost::kHost && !context_.pace->device_clock;
  const auto lock = locked();
  TimePoint ready = std::max(work.submitted + context_.pace->launch, last_end_);
  for (const MarkerPointer& each : work.after) ready = std::max(ready, each->when);
  work.end = context_.engines.book(*context_.pace, cost, ready);
}

/// With Driver::mutex held, when the body has run.
TimePoint Stream::ended(const Work& work) const {
  const auto now = std::chrono::steady_clock::now();
  if (!context_.pace) return now;
  return work.counts ? std::max(now, work.end) : work.end;
}

bool Stream::wait_for(Work& work) {
  Driver& driver = Driver::instance();
  std::unique_lock lock(driver.mutex);
  driver.changed.wait(lock, [&] {
    for (const MarkerPointer& each : work.after)
      if (!each->reached && !context_.over()) return false;
    return true;
  });
  if (context_.over()) return false;
  ++context_.running;
  return true;
}

void Stream::run(Work& work) {
  if (!wait_for(work)) return;
  int code = asked_failure("run");
  log_run(work.what, handle, work.call);
  try {
    if (code == kHang) hang_until_over(context_);
    if (code == kNoFailure) {
      book(work);
      if (work.body) work.body();
    }
  } catch (const Failure& failure) {
    code = failure.code;
  }
  work.body = nullptr;
  if (context_.pace) sleep_until(*context_.pace, work.end);
  Driver& driver = Driver::instance();
  const std::lock_guard lock(driver.mutex);
  --context_.running;
  if (code > 0) context_.fail(code);
  if (!context_.over()) *work.marker = {true, last_end_ = ended(work)};
  driver.changed.notify_all();
}

}  // namespace jitc::fakes
