#include "stream_progress.h"

namespace jitc::session {
namespace {

constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;
constexpr auto kRelaxed = std::memory_order_relaxed;

void raise(std::atomic<uint64_t>& value, uint64_t to) {
  if (value.load(kRelaxed) < to) value.store(to, kRelease);
}

}  // namespace

void StreamProgress::Sequences::carry(const Sequences& from) {
  submitted.store(from.submitted.load(kRelaxed), kRelaxed);
  executed.store(from.executed.load(kRelaxed), kRelaxed);
}

uint64_t StreamProgress::submitted(uint64_t stream) const {
  const Sequences* found = streams_.find(key_of(stream));
  return found != nullptr ? found->submitted.load(kAcquire) : 0;
}

bool StreamProgress::executed(uint64_t stream, uint64_t sequence) const {
  if (everywhere_.load(kAcquire) >= sequence) return true;
  const Sequences* found = streams_.find(key_of(stream));
  return found != nullptr && found->executed.load(kAcquire) >= sequence;
}

std::vector<StreamProgress::Outstanding> StreamProgress::outstanding() const {
  std::vector<Outstanding> found;
  streams_.each([&](uint64_t key, const Sequences& one) {
    const Outstanding last{key - 1, one.submitted.load(kAcquire)};
    if (!executed(last.stream, last.sequence)) found.push_back(last);
  });
  return found;
}

Reach StreamProgress::submit(const ops::OpHeader& op) {
  const StreamOrder::Place place = order_.place(op);
  if (place.is_work)
    streams_.update(key_of(op.stream), [&](Sequences& one) { raise(one.submitted, op.sequence); });
  return place.shows;
}

void StreamProgress::advance(const Reach& reach) {
  due_.push_back(reach);
  while (!due_.empty()) {
    const Reach next = due_.back();
    due_.pop_back();
    switch (next.of) {
      case Reach::Of::stream:
        advance_stream(next.stream, next.sequence);
        break;
      case Reach::Of::legacy_and_blocking:
        order_.legacy_group(next.sequence, due_);
        break;
      case Reach::Of::device:
        raise(everywhere_, next.sequence);
        break;
    }
  }
}

/// Advances the stream; what its work had to wait for is due with it.
void StreamProgress::advance_stream(uint64_t stream, uint64_t sequence) {
  if (executed(stream, sequence)) return;
  streams_.update(key_of(stream), [&](Sequences& one) { raise(one.executed, sequence); });
  order_.follow(stream, sequence, due_);
}

}  // namespace jitc::session
