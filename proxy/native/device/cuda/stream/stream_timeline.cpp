// See stream_timeline.h.
#include "stream_timeline.h"

#include <algorithm>

namespace jitc::cuda {

bool StreamTimeline::look_again() {
  newer_ = reached();
  if (newer_ == seen_) return false;
  const auto next = std::ranges::upper_bound(waiting_, seen_, {}, &Waiting::value);
  return next != waiting_.end() && next->value <= newer_;
}

bool StreamTimeline::collect(Delivery& out) {
  out.value = reported_;
  for (; !marks_.empty() && marks_.front().value <= seen_; marks_.pop_front()) {
    out.value = marks_.front().value;
    out.sequence = marks_.front().sequence;
  }
  for (; !waiting_.empty() && waiting_.front().value <= out.value; waiting_.pop_front())
    out.completions.push_back(std::move(waiting_.front().completion));
  handed_out_ = out.sequence || !out.completions.empty();
  return handed_out_;
}

void StreamTimeline::was_told(uint64_t value) {
  reported_ = std::max(reported_, value);
  handed_out_ = false;
}

}  // namespace jitc::cuda
