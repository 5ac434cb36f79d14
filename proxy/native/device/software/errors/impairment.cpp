// See impairment.h.
#include "impairment.h"

#include <chrono>
#include <thread>

#include "error.h"

namespace jitc::software {
namespace {
/// Added to each round of a collective on a slow link.
constexpr std::chrono::milliseconds kSlow{50};
}  // namespace

void Impairment::require_link() const {
  if (feels(Kind::cut))
    refuse(kUnknown, "collective-error", "the connection to the other ranks is cut (injected)");
}

void Impairment::linger() const {
  if (feels(Kind::slow)) std::this_thread::sleep_for(kSlow);
}

}  // namespace jitc::software
