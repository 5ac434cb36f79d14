// See timeline.h.
#include "timeline.h"

#include <algorithm>

#include "base/operands.h"

namespace jitc::software::order {
namespace {
constexpr uint32_t kNonBlocking = 1;  // cudaStreamNonBlocking
/// Turns kept per stream. Knowledge of an older op counts as more than it is, never as less.
constexpr size_t kTurns = 512;

uint64_t plain(uint64_t handle) { return handle <= kLastDefaultStream ? 0 : handle; }
}  // namespace

/// Returns a stream number; one of a destroyed stream is reused once the host knows that its ops are over.
uint32_t Timeline::free_number() {
  const auto over = [&](const auto& one) { return host_.covers(one.first, one.second); };
  const auto found = std::find_if(left_.begin(), left_.end(), over);
  if (found == left_.end()) return numbers_++;
  const uint32_t number = found->first;
  left_.erase(found);
  return number;
}

Timeline::Stream& Timeline::at(uint64_t handle) {
  const auto found = streams_.find(plain(handle));
  if (found != streams_.end()) return found->second;
  return streams_.emplace(plain(handle), Stream{free_number(), false, 0, 0, {}, {}}).first->second;
}

void Timeline::create_stream(uint64_t handle, uint32_t flags) {
  Stream& stream = at(handle);
  if (stream.blocking || (flags & kNonBlocking)) return;
  stream.blocking = true;
  ++blocking_;
}

void Timeline::destroy_stream(uint64_t handle) {
  const auto found = streams_.find(plain(handle));
  if (found == streams_.end() || plain(handle) == 0) return;
  blocking_ -= found->second.blocking;
  left_.emplace_back(found->second.number, found->second.newest);
  streams_.erase(found);
}

/// Joins the clocks of the default stream, which waits for all blocking ones, and they for it.
bool Timeline::join_legacy(uint64_t handle, Stream& stream) {
  if (blocking_ == 0) return false;
  if (stream.blocking) return stream.clock.join(at(0).clock);
  bool more = false;
  if (plain(handle) == 0)
    for (const auto& [other, one] : streams_)
      if (one.blocking) more |= stream.clock.join(one.clock);
  return more;
}

void Timeline::note_turn(Stream& stream, uint64_t sequence) {
  if (stream.turns.size() >= kTurns)
    stream.turns.erase(stream.turns.begin(), stream.turns.begin() + kTurns / 2);
  stream.turns.emplace_back(sequence, stream.clock);
}

Timeline::Moment Timeline::begin(uint64_t handle, uint64_t sequence) {
  Stream& stream = at(handle);
  bool more = false;
  if (stream.host_version != host_version_) {
    stream.host_version = host_version_;
    more = stream.clock.join(host_);
  }
  more |= join_legacy(handle, stream);
  stream.clock.raise(stream.number, sequence);
  stream.newest = sequence;
  if (more) note_turn(stream, sequence);
  return {stream.number, stream.clock};
}

void Timeline::record(uint64_t event, uint64_t stream) { events_[event] = at(stream).clock; }

void Timeline::wait(uint64_t event, uint64_t handle, uint64_t sequence) {
  const auto found = events_.find(event);
  if (found == events_.end()) return;  // never recorded, or recorded before everything known here
  Stream& stream = at(handle);
  if (stream.clock.join(found->second)) note_turn(stream, sequence);
}

void Timeline::tell_host(const Clock& clock) { host_version_ += host_.join(clock); }

void Timeline::host_has_stream(uint64_t handle) {
  Stream& stream = at(handle);
  // The default stream's work behind a blocking stream's last op is not waited for.
  if (!stream.blocking) join_legacy(handle, stream);
  tell_host(stream.clock);
}

void Timeline::host_has_event(uint64_t event) {
  if (const auto found = events_.find(event); found != events_.end()) tell_host(found->second);
}

void Timeline::host_has_all() {
  for (const auto& [handle, stream] : streams_) tell_host(stream.clock);
  for (const auto& [number, newest] : left_) {
    Clock gone;
    gone.raise(number, newest);
    tell_host(gone);
  }
}

void Timeline::host_has(uint64_t handle, uint64_t sequence) {
  const Stream& stream = at(handle);
  const uint64_t known = std::min(sequence, stream.newest);
  const auto after = std::find_if(stream.turns.rbegin(), stream.turns.rend(),
                                  [&](const auto& one) { return one.first <= known; });
  Clock clock;
  if (after != stream.turns.rend())
    clock = after->second;
  else if (!stream.turns.empty() && stream.turns.size() >= kTurns / 2)
    clock = stream.turns.front().second;  // its earlier state is forgotten
  clock.raise(stream.number, known);
  tell_host(clock);
}

}  // namespace jitc::software::order
