#include "drain_limit.h"

#include <algorithm>

namespace jitc {

bool DrainLimit::is_over(const Tally& awaited, Duration waited) {
  if (awaited == given_up_) return true;
  if (waited <= (soon_ ? Duration(kSoon) : at_length_)) return false;
  given_up_ = awaited;
  if (soon_) return --soon_, true;
  soon_ = next_;
  next_ = std::min(4 * next_, kFinally);
  at_length_ = std::min(3 * at_length_, Duration(kLongest));
  return true;
}

void DrainLimit::paid_off(Duration waited) {
  given_up_ = {};
  if (waited > kMoment) doubt_ = kSoon;
  if (!soon_ && waited > kSoon) next_ = kFewest;
}

}  // namespace jitc
