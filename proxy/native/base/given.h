// Counts of the things of one kind that a rank has submitted, and of those that are done: collectives of a
// communicator, or transfers with one of its ranks. They are done in the order of submission.
//
// Promises: what it reports as done is done. Older unfinished things may be reported as done later than
// possible; of the newest ones each is known. Called by: Communications. Pure.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <vector>

namespace jitc {

class Given {
 public:
  /// Mark by which completion is seen: the result of the op, else its stream's progress.
  struct Mark {
    bool result = false;
    uint64_t stream = 0, sequence = 0;  // 0: it was done long ago
  };
  using IsDone = std::function<bool(const Mark&)>;

  Given() = default;
  /// Starts from a boundary at which a session continues: all are done.
  explicit Given(uint64_t count) : count_(count), settled_(count) {}

  uint64_t count() const { return count_; }
  /// Adds one more, which is done by this mark; an op that submits several adds each.
  void add(const Mark& mark) {
    ++count_;
    if (places_.empty() && !mark.sequence) settled_ = count_;
    if (!mark.sequence) return;
    if (!places_.empty() && places_.back().mark.sequence == mark.sequence) places_.pop_back();
    if (places_.size() == kKept) thin();
    places_.push_back({count_, mark});
  }
  /// Returns how many are done: all, exactly when the newest is done; else at least so many, up to the first
  /// that is known to be open.
  uint64_t done(const IsDone& is_done) const {
    if (places_.empty() || is_done(places_.back().mark)) return count_;
    const auto open = std::ranges::find_if(places_, [&](const Place& one) { return !is_done(one.mark); });
    return open == places_.begin() ? settled_ : std::prev(open)->count;
  }

 private:
  static constexpr size_t kKept = 64;
  struct Place {
    uint64_t count = 0;  // with all of its op
    Mark mark;
  };
  /// Drops every second place: an open op before it then counts as open until the next one is done.
  void thin() {
    size_t kept = 0;
    for (size_t i = 1; i < places_.size(); i += 2) places_[kept++] = places_[i];
    places_.resize(kept);
  }

  uint64_t count_ = 0, settled_ = 0;
  std::vector<Place> places_;  // oldest first
};

}  // namespace jitc
