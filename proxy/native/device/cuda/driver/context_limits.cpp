// See context_limits.h.
#include "context_limits.h"

#include <algorithm>

namespace jitc::cuda {

size_t ContextLimits::Limit::wanted() const {
  size_t most = 0;
  for (const auto& [owner, value] : asked) most = std::max(most, value);
  return asked.empty() ? before : most;
}

abi::CUresult ContextLimits::apply(int32_t number, Limit& limit) {
  const size_t wanted = limit.wanted();
  if (wanted == limit.given) return 0;
  const auto status = driver_.cuCtxSetLimit(number, wanted);
  if (status == 0) limit.given = wanted;
  return status;
}

abi::CUresult ContextLimits::set(const Owner* owner, int32_t number, size_t value, size_t* in_force) {
  const std::lock_guard lock(mutex_);
  if (const auto status = driver_.cuCtxGetLimit(in_force, number)) return status;
  Limit& limit = limits_.try_emplace(number, Limit{*in_force, *in_force}).first->second;
  const auto former = limit.asked;
  limit.asked[owner] = value;
  if (const auto status = apply(number, limit)) return limit.asked = former, status;
  return driver_.cuCtxGetLimit(in_force, number);
}

/// Drops requests. A limit that the driver refuses to lower stays: it only takes memory.
void ContextLimits::clear(const Owner* owner, const std::set<int32_t>& but) {
  const std::lock_guard lock(mutex_);
  for (auto& [number, limit] : limits_)
    if (!but.contains(number) && limit.asked.erase(owner)) apply(number, limit);
}

}  // namespace jitc::cuda
