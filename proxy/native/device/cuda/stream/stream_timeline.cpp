// See stream_timeline.h.
#include "stream_timeline.h"

#include <algorithm>

namespace jitc::cuda {

bool StreamTimeline::look_again() {
  newer_ = reached();
  if (newer_ == seen_) return false;
  const auto next = std::ranges::upper_bound(waiting_, seen_, {}, &Waiting::ticket);
  return next != waiting_.end() && next->ticket <= newer_;
}

bool StreamTimeline::collect(Delivery& out) {
  out.ticket = reported_;
  for (; !marks_.empty() && marks_.front().ticket <= seen_; marks_.pop_front()) {
    out.ticket = marks_.front().ticket;
    out.sequence = marks_.front().sequence;
  }
  for (; !waiting_.empty() && waiting_.front().ticket <= out.ticket; waiting_.pop_front())
    out.completions.push_back(std::move(waiting_.front().completion));
  return out.sequence || !out.completions.empty();
}

}  // namespace jitc::cuda
