// Coming to rest (fence) and making what was there before (restore). See device.h.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "device.h"

namespace jitc::cuda {
namespace {
using Clock = std::chrono::steady_clock;
constexpr double kRestSeconds = 10;
constexpr int kExitNoRest = 70;  // EX_SOFTWARE

Clock::time_point in(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}
}  // namespace

std::vector<Stream*> Device::all_streams() {
  std::vector<Stream*> all{legacy_.get()};
  for (const auto& [handle, stream] : streams_) all.push_back(stream.get());
  for (const StreamPointer& stream : retired_) all.push_back(stream.get());
  return all;
}

/// Work that may hang is not waited for longer than it would take to notice.
double Device::rest_limit() const {
  return options_.hang_seconds > 0 ? std::min(kRestSeconds, options_.hang_seconds) : kRestSeconds;
}

/// The dispatcher may be inside the driver, which may block: then it never comes back.
bool Device::lock_within(double seconds) {
  const auto until = in(seconds);
  while (!mutex_.try_lock()) {
    if (Clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

bool Device::wait_for_rest(double seconds) {
  const auto until = in(seconds);
  for (const Stream* stream : all_streams()) {
    // An error is rest too: nothing runs any more on a device that is lost.
    while (driver().cuStreamQuery(stream->own()) == kNotReady) {
      if (Clock::now() > until) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }
  return true;
}

/// What runs on the GPU cannot be stopped but by the end of its process. The service starts another one.
void Device::give_up_process() const {
  std::fprintf(stderr,
               "jitc-worker: GPU %d does not come to rest within %g s (a hung kernel or collective): this "
               "process ends, another takes over\n",
               options_.ordinal, rest_limit());
  std::fflush(stderr);
  _exit(kExitNoRest);
}

void Device::fence() {
  state_.store(State::fenced);
  completer_->close();
  communicators_->interrupt();
  if (!lock_within(rest_limit())) give_up_process();
  const std::lock_guard lock(mutex_, std::adopt_lock);
  context_->bind();
  let_communicating_graphs_go();
  // Before streams are waited for: a collective whose peer is gone ends no other way.
  if (!communicators_->fence(std::chrono::milliseconds(static_cast<int64_t>(rest_limit() * 1000))))
    give_up_process();
  if (harm_) harm_->release();
  deserted_ = 0;
  if (!wait_for_rest(rest_limit())) give_up_process();
  completer_->settle();
  for (Stream* const stream : all_streams()) {
    completer_->forget(*stream->track());
    stream->fresh = false;
  }
  fresh_.clear();
  reap_streams(true);
}

void Device::unfence() {
  const std::lock_guard lock(mutex_);
  completer_->open();
  state_.store(State::running);
  communicators_->resume();
}

void Device::commit() {
  const std::lock_guard lock(mutex_);
  if (context_->bind() != 0) return;
  completer_->be_careful(false);
  const auto all = all_streams();
  const bool at_rest = std::all_of(
      all.begin(), all.end(), [this](const Stream* stream) { return completer_->dry(*stream->track()); });
  memory_.commit(at_rest);
  if (at_rest) {
    graphs_.commit();
    modules_->commit();
  }
  reap_streams(false);
}

bool Device::restore(const Resources& resources, std::string& error) {
  const std::lock_guard lock(mutex_);
  if (state_ != State::fenced) return error = "restore needs a fence first", false;
  // A fault that comes back is the program's own when it comes back at the same op: until the next boundary
  // each op is marked.
  completer_->be_careful(true);
  try {
    check("cuCtxSetCurrent", context_->bind());
    captures_.clear();
    // Before graphs that execute them: what a library loads meanwhile cannot be captured.
    dnn_.restore(resources.dnn_plans, !resources.executables.empty() || !resources.captures.empty());
    graphs_.restore(resources);
    restore_streams(resources.streams);
    restore_events(resources.events);
    communicators_->restore(resources.communicators);
    if (!memory_.restore(resources, error)) return false;
    host_ranges_->restore(resources.host_ranges);
    modules_->restore(resources);
    blas_.restore(resources.blas);
    open_captures_ = resources.captures;
    return true;
  } catch (const OpError& failure) {
    return error = failure.message, false;
  }
}

void Device::restore_streams(const std::vector<Resources::Stream>& wanted) {
  std::unordered_map<uint64_t, StreamPointer> old;
  old.swap(streams_);
  for (const Resources::Stream& one : wanted) {
    const auto found = old.find(one.handle);
    if (found != old.end() && found->second->same(one))
      streams_.insert(old.extract(found));
    else
      streams_.emplace(one.handle, std::make_unique<Stream>(context_, *completer_, one));
  }
}

/// Whether an event was recorded is not known any more; all work before is done, so it may count as recorded.
void Device::restore_events(const std::vector<Resources::Event>& wanted) {
  std::unordered_map<uint64_t, EventPointer> old;
  old.swap(events_);
  for (const Resources::Event& one : wanted) {
    const auto found = old.find(one.handle);
    EventPointer event = found != old.end() && found->second->flags() == one.flags
                             ? found->second
                             : std::make_shared<Event>(context_, one.flags);
    if (!event->recorded) check("cuEventRecord", driver().cuEventRecord(event->real(), nullptr));
    event->recorded = true;
    event->track = nullptr;
    events_.emplace(one.handle, std::move(event));
  }
}

}  // namespace jitc::cuda
