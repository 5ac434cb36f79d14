// See progress.h.
#include "progress.h"

#include <algorithm>

namespace jitc {

void Progress::give(uint64_t stream, uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  streams_[stream].given = sequence;
}

void Progress::done(uint64_t stream, uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  uint64_t& done = streams_[stream].done;
  done = std::max(done, sequence);
  published_.publish(stream, done);
}

void Progress::drained(uint64_t stream, uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  for (auto& [handle, reached] : streams_) reached.done = std::max(reached.done, reached.given);
  streams_[stream] = {sequence, sequence};
  published_.publish(stream, sequence);
}

void Progress::restore(uint64_t sequence, std::span<const Resources::Stream> streams) {
  const std::lock_guard lock(mutex_);
  floor_ = sequence;
  again_.clear();
  streams_.clear();
  streams_[0] = {sequence, sequence};
  for (const auto& stream : streams) streams_[stream.handle] = {sequence, sequence};
}

void Progress::raise_floor(uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  floor_ = sequence;
}

uint64_t Progress::executed(uint64_t dispatched) const {
  const std::lock_guard lock(mutex_);
  uint64_t executed = dispatched;
  for (const auto& [stream, reached] : streams_)
    if (reached.done < reached.given) executed = std::min(executed, reached.done);
  return std::max(executed, floor_);
}

uint64_t Progress::floor() const {
  const std::lock_guard lock(mutex_);
  return floor_;
}

std::vector<StreamProgress> Progress::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<StreamProgress> out;
  for (const auto& [stream, reached] : streams_) out.push_back({stream, std::max(reached.done, floor_)});
  if (!streams_.contains(0) && floor_) out.push_back({0, floor_});
  return out;
}

void Progress::note_again(uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  again_.insert(sequence);
}

bool Progress::noted_again(uint64_t sequence) const {
  const std::lock_guard lock(mutex_);
  return sequence <= floor_ || again_.contains(sequence);
}

/// Returns whether a stream has come as far as was reported. The ops before the report have been submitted: a
/// stream that has done all of them has.
bool Progress::reached(const StreamProgress& reported) const {
  const auto found = streams_.find(reported.stream);
  if (reported.sequence <= floor_ || found == streams_.end()) return true;
  return found->second.done >= std::min(reported.sequence, found->second.given);
}

bool Progress::reached(std::span<const StreamProgress> reported) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::all_of(reported, [this](const StreamProgress& one) { return reached(one); });
}

}  // namespace jitc
