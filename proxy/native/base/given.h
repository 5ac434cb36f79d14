// How many things of one kind a rank has given, and how many of them are done: collectives of a communicator,
// or transfers with one of its ranks. They are done in the order in which they were given.
//
// Promises: what it says is done is done. Of what was given long ago and is not done it may say so later than
// it could; of the newest ones it knows each. Called by: Communications. Pure.
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
  /// Where it can be seen that something is done: by its result, else by its stream's progress.
  struct Mark {
    bool result = false;
    uint64_t stream = 0, sequence = 0;  // 0: it was done long ago
  };
  using IsDone = std::function<bool(const Mark&)>;

  Given() = default;
  /// Of a session that goes on from a boundary: all are done.
  explicit Given(uint64_t count) : count_(count), settled_(count) {}

  uint64_t count() const { return count_; }
  /// One more, which is done by this mark; an op that gives several adds each.
  void add(const Mark& mark) {
    ++count_;
    if (places_.empty() && !mark.sequence) settled_ = count_;
    if (!mark.sequence) return;
    if (!places_.empty() && places_.back().mark.sequence == mark.sequence) places_.pop_back();
    if (places_.size() == kKept) thin();
    places_.push_back({count_, mark});
  }
  /// All of them, exactly when the newest is done; else at least so many, up to the first that is known to be
  /// open.
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
  /// Every second one goes: those before it that are open count as open until the next one is done.
  void thin() {
    size_t kept = 0;
    for (size_t i = 1; i < places_.size(); i += 2) places_[kept++] = places_[i];
    places_.resize(kept);
  }

  uint64_t count_ = 0, settled_ = 0;
  std::vector<Place> places_;  // oldest first
};

}  // namespace jitc
