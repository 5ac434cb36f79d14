// Vector clock: for each stream, the latest op known to be over.
//
// Streams are numbered by Timeline; what they count is the sequence of their ops, which grows over all
// streams together. Called by: Timeline, AccessMap.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace jitc::software::order {

class Clock {
 public:
  bool covers(uint32_t stream, uint64_t sequence) const {
    return stream < known_.size() && known_[stream] >= sequence;
  }
  void raise(uint32_t stream, uint64_t sequence) {
    if (stream >= known_.size()) known_.resize(stream + size_t{1});
    if (known_[stream] < sequence) known_[stream] = sequence;
  }
  /// Joins another clock; returns whether anything was new.
  bool join(const Clock& other) {
    bool more = false;
    if (known_.size() < other.known_.size()) known_.resize(other.known_.size());
    for (size_t i = 0; i < other.known_.size(); ++i) {
      if (known_[i] >= other.known_[i]) continue;
      known_[i] = other.known_[i];
      more = true;
    }
    return more;
  }

 private:
  std::vector<uint64_t> known_;
};

}  // namespace jitc::software::order
