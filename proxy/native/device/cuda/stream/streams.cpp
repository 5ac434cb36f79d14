// See streams.h.
#include "streams.h"

#include <algorithm>

#include "device/cuda/driver/error.h"

namespace jitc::cuda {

Stream* Streams::find(uint64_t handle) const {
  const auto found = streams_.find(handle);
  return found == streams_.end() ? nullptr : found->second.get();
}

Stream& Streams::at(uint64_t handle) const {
  Stream* const found = find(handle);
  if (!found) refuse_handle("stream " + hex(handle) + " does not exist");
  return *found;
}

std::vector<Stream*> Streams::all() {
  std::vector<Stream*> all{&legacy_};
  for (const auto& [handle, stream] : streams_) all.push_back(stream.get());
  for (const Pointer& stream : zombies_) all.push_back(stream.get());
  return all;
}

// -- by handle -----------------------------------------------------------------------------------------

void Streams::create(const Resources::Stream& wanted) {
  if (wanted.handle <= kLastDefaultStream || streams_.contains(wanted.handle))
    refuse_handle("stream " + hex(wanted.handle) + " exists already");
  streams_.emplace(wanted.handle, std::make_unique<Stream>(context_, poller_, wanted));
}

void Streams::destroy(uint64_t handle) {
  const auto found = streams_.find(handle);
  if (found == streams_.end()) return;
  poller_.mark(found->second->timeline());
  std::erase(unmarked_, found->second.get());
  zombies_.push_back(std::move(found->second));
  streams_.erase(found);
  reap(false);
}

void Streams::reap(bool everything) {
  std::erase_if(zombies_,
                [&](const Pointer& stream) { return everything || poller_.idle(*stream->timeline()); });
}

void Streams::restore(const std::vector<Resources::Stream>& wanted) {
  std::unordered_map<uint64_t, Pointer> old;
  old.swap(streams_);
  for (const Resources::Stream& one : wanted) {
    const auto found = old.find(one.handle);
    if (found != old.end() && found->second->same(one))
      streams_.insert(old.extract(found));
    else
      streams_.emplace(one.handle, std::make_unique<Stream>(context_, poller_, one));
  }
}

// -- progress ------------------------------------------------------------------------------------------

void Streams::given(Stream& stream, const ops::OpHeader& op) {
  if (stream.diverted()) return poller_.note(stream.timeline(), op.sequence);
  if (!stream.unmarked) unmarked_.push_back(&stream);
  stream.unmarked = true;
  poller_.given(stream.timeline(), op);
}

void Streams::note(const ops::OpHeader& op) {
  const Stream* const stream = op.stream <= kLastDefaultStream ? &legacy_ : find(op.stream);
  if (stream) poller_.note(stream->timeline(), op.sequence);
}

void Streams::mark_all() {
  std::erase_if(unmarked_, [this](Stream* stream) {
    poller_.mark(stream->timeline());
    stream->unmarked = false;
    return true;
  });
}

bool Streams::all_idle() {
  const auto streams = all();
  return std::all_of(streams.begin(), streams.end(),
                     [this](const Stream* stream) { return poller_.idle(*stream->timeline()); });
}

uint64_t Streams::suspect() const {
  const auto marked = poller_.under_way();
  uint64_t oldest = marked ? marked->sequence : UINT64_MAX;
  for (const Stream* const stream : unmarked_)
    oldest = std::min(oldest, poller_.oldest_unmarked(*stream->timeline()));
  return oldest == UINT64_MAX ? 0 : oldest;
}

void Streams::forget_all() {
  for (Stream* const stream : all()) {
    poller_.forget(*stream->timeline());
    stream->unmarked = false;
  }
  unmarked_.clear();
  reap(true);
}

}  // namespace jitc::cuda
