// See ending.h.
#include "ending.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace jitc::software {

std::vector<std::byte> Cut::pack() const {
  std::vector<uint64_t> words{first.sequence, first.index};
  words.insert(words.end(), steps.begin(), steps.end());
  const auto bytes = std::as_bytes(std::span(words));
  return {bytes.begin(), bytes.end()};
}

Cut Cut::unpack(std::span<const std::byte> bytes) {
  std::vector<uint64_t> words(std::max<size_t>(2, bytes.size() / sizeof(uint64_t)));
  std::memcpy(words.data(), bytes.data(), std::min(bytes.size(), words.size() * sizeof(uint64_t)));
  return {{words[0], words[1]}, {words.begin() + 2, words.end()}};
}

void Ending::expect(Cut cut) {
  const std::lock_guard lock(mutex_);
  expected_ = std::move(cut);
  recorded_.store(true);
}

CollectivePosition Ending::given(uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  last_ = {sequence, last_.sequence == sequence ? last_.index + 1 : 0};
  if (!ends_ && !excluded_locked(last_)) pending_.push_back(last_);
  return last_;
}

bool Ending::excluded(const CollectivePosition& at) const {
  const std::lock_guard lock(mutex_);
  return excluded_locked(at);
}

/// Excludes later ones: a collective given before the abort has its turn, and finds out then.
bool Ending::excluded_locked(const CollectivePosition& at) const {
  return expected_ ? expected_->excludes(at) : ends_ && at >= after_;
}

bool Ending::begin(const CollectivePosition& at) {
  const std::lock_guard lock(mutex_);
  if (ends_ || excluded_locked(at)) return false;
  return under_way_ = true;
}

std::optional<std::vector<uint64_t>> Ending::limits(const CollectivePosition& at) const {
  const std::lock_guard lock(mutex_);
  if (!expected_ || expected_->first != at) return std::nullopt;
  return expected_->steps;
}

void Ending::done(const CollectivePosition& at) {
  const std::lock_guard lock(mutex_);
  under_way_ = false;
  std::erase(pending_, at);
}

void Ending::stopped(const CollectivePosition& at, std::vector<uint64_t> steps) {
  const std::lock_guard lock(mutex_);
  under_way_ = false;
  std::erase(pending_, at);
  stopped_ = Cut{at, std::move(steps)};
}

void Ending::end(uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  if (expected_) return;
  after_ = std::max(CollectivePosition{sequence + 1, 0}, CollectivePosition{last_.sequence, last_.index + 1});
  ends_.store(true);
}

bool Ending::settled() const {
  const std::lock_guard lock(mutex_);
  return expected_ ? pending_.empty() : !under_way_;
}

Cut Ending::outcome() const {
  const std::lock_guard lock(mutex_);
  if (expected_) return *expected_;
  if (stopped_) return *stopped_;
  return {pending_.empty() ? after_ : pending_.front(), {}};
}

}  // namespace jitc::software
