// See order_check.h.
#include "order_check.h"

#include <algorithm>
#include <iterator>

namespace jitc::session::order_check {
namespace {
thread_local std::vector<Found> all_found;
std::atomic<const char* (*)()> site_source{nullptr};
}  // namespace

void set_site_source(const char* (*source)()) { site_source.store(source); }

const char* current_site() {
  const auto source = site_source.load(std::memory_order_relaxed);
  const char* const site = source ? source() : nullptr;
  return site ? site : "";
}

void found_done(const Found& found) {
  const auto same = [&](const Found& one) {
    return one.session == found.session && one.stream == found.stream;
  };
  const auto known = std::find_if(all_found.begin(), all_found.end(), same);
  if (known == all_found.end())
    all_found.push_back(found);
  else
    known->until = std::max(known->until, found.until);
}

std::vector<Found> take_found(const Session& session) {
  std::vector<Found> taken;
  if (all_found.empty()) return taken;
  const auto here = [&](const Found& one) { return one.session == &session; };
  std::copy_if(all_found.begin(), all_found.end(), std::back_inserter(taken), here);
  std::erase_if(all_found, here);
  return taken;
}

}  // namespace jitc::session::order_check
