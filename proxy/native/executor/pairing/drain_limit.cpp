#include "drain_limit.h"

#include <algorithm>

namespace jitc {

bool DrainLimit::is_over(Duration waited) {
  if (waited <= (soon_ ? Duration(kSoon) : at_length_)) return false;
  if (soon_) return --soon_, true;
  soon_ = next_;
  next_ = std::min(4 * next_, kMost);
  at_length_ = std::min(3 * at_length_, Duration(kLongest));
  return true;
}

void DrainLimit::paid_off(Duration waited) {
  if (!soon_ && waited > kSoon) next_ = kFewest;
}

}  // namespace jitc
