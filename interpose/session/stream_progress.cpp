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

void StreamProgress::submit(uint64_t stream, uint64_t sequence) {
  streams_.update(key_of(stream), [&](Sequences& one) { raise(one.submitted, sequence); });
}
void StreamProgress::advance(uint64_t stream, uint64_t sequence) {
  streams_.update(key_of(stream), [&](Sequences& one) { raise(one.executed, sequence); });
}
void StreamProgress::advance_all(uint64_t sequence) { raise(everywhere_, sequence); }

}  // namespace jitc::session
