// See streams.h.
#include "streams.h"

#include <algorithm>

#include "device/software/errors/error.h"

namespace jitc::software {

Streams::Streams(Runner& runner, Crew& crew, Hangs& hangs)
    : runner_(runner), crew_(crew), hangs_(hangs), legacy_(std::make_shared<Stream>(0, 0, runner, crew)) {}

Stream& Streams::at(uint64_t handle) const {
  const auto found = streams_.find(handle);
  if (found == streams_.end()) refuse_handle("stream " + hex(handle) + " does not exist");
  return *found->second;
}

std::vector<Stream*> Streams::busy() const {
  std::vector<Stream*> busy;
  const auto see = [&](const Pointer& stream) {
    if (!stream->idle()) busy.push_back(stream.get());
  };
  see(legacy_);
  for (const auto& [handle, stream] : streams_) see(stream);
  for (const Pointer& stream : zombies_) see(stream);
  return busy;
}

// -- by handle -----------------------------------------------------------------------------------------

void Streams::add(uint64_t handle, uint32_t flags) {
  auto stream = std::make_shared<Stream>(handle, flags, runner_, crew_);
  hangs_.watch(stream);
  if (stream->blocking()) blocking_.push_back(stream);
  streams_.emplace(handle, std::move(stream));
}

void Streams::create(uint64_t handle, uint32_t flags) {
  if (handle <= kLastDefaultStream || streams_.contains(handle))
    refuse_handle("stream " + hex(handle) + " exists already");
  if (flags > Stream::kNonBlocking) refuse_value("stream flags " + hex(flags));
  add(handle, flags);
}

void Streams::destroy(uint64_t handle) {
  const auto found = streams_.find(handle);
  if (found == streams_.end()) return;
  const Pointer stream = found->second;
  if (!stream->idle()) zombies_.push_back(stream);
  std::erase_if(blocking_, [&](const Pointer& one) { return one == stream && one->idle(); });
  streams_.erase(found);
  reap();
}

/// Frees destroyed streams whose work is done.
void Streams::reap() {
  std::erase_if(zombies_, [this](const Pointer& stream) {
    return stream->idle() && (std::erase(blocking_, stream), true);
  });
}

void Streams::restore(const std::vector<Resources::Stream>& wanted) {
  streams_.clear();
  blocking_.clear();
  zombies_.clear();
  legacy_->forget_notes();
  for (const Resources::Stream& one : wanted) add(one.handle, one.flags);
}

// -- order and progress --------------------------------------------------------------------------------

/// Orders work on the legacy default stream with that on every blocking stream, both ways.
std::vector<After> Streams::legacy_order(Stream& stream) {
  std::vector<After> after;
  if (&stream != legacy_.get()) {
    if (stream.blocking() && legacy_->given() > stream.legacy_seen) {
      stream.legacy_seen = legacy_->given();
      if (!legacy_->idle()) after.push_back(legacy_->after_all());
    }
    return after;
  }
  for (const Pointer& other : blocking_) {
    if (other->given() <= other->seen_by_legacy) continue;
    other->seen_by_legacy = other->given();
    if (!other->idle()) after.push_back(other->after_all());
  }
  return after;
}

void Streams::note(const ops::OpHeader& op) {
  const auto found = streams_.find(op.stream);
  if (op.stream <= kLastDefaultStream)
    legacy_->note(op.sequence);
  else if (found != streams_.end())
    found->second->note(op.sequence);
}

}  // namespace jitc::software
