// See region.h.
#include "region.h"

#include <algorithm>

namespace jitc::software::order {
namespace {
/// Runs that a test for overlap examines at most.
constexpr uint64_t kLookedAt = 1u << 18;
}  // namespace

Region::Region(uint64_t address, uint64_t bytes) : begin_(address), run_(bytes) {
  if (address + bytes < address) run_ = 0;
}

Region::Region(uint64_t address, uint64_t item, std::span<const int64_t> sizes,
               std::span<const int64_t> strides)
    : begin_(address), run_(item) {
  struct Given {
    uint64_t count, step;
  };
  std::vector<Given> given;
  bool good = address + item >= address;
  for (size_t i = 0; i < sizes.size(); ++i) {
    uint64_t step = 0;
    good = good && sizes[i] > 0 && strides[i] >= 0 &&
           !__builtin_mul_overflow(static_cast<uint64_t>(strides[i]), item, &step);
    // Elements at one place are one element.
    if (good && sizes[i] > 1 && step) given.push_back({static_cast<uint64_t>(sizes[i]), step});
  }
  std::sort(given.begin(), given.end(), [](const Given& a, const Given& b) { return a.step < b.step; });
  for (const auto& [count, step] : given) good = good && add(count, step);
  std::reverse(outer_.begin(), outer_.end());
  if (good) return;
  run_ = 0;
  outer_.clear();
}

/// Adds a dimension; steps must grow. False: the region would end beyond the last address.
bool Region::add(uint64_t count, uint64_t step) {
  const uint64_t before = outer_.empty() ? run_ : outer_.back().extent;
  uint64_t extent = 0;
  if (__builtin_mul_overflow(count - 1, step, &extent) || __builtin_add_overflow(extent, before, &extent) ||
      begin_ + extent < begin_)
    return false;
  if (outer_.empty() && step <= run_) {
    run_ = extent;
  } else if (!outer_.empty() && step == outer_.back().count * outer_.back().step) {
    outer_.back().count *= count;
    outer_.back().extent = extent;
  } else {
    outer_.push_back({count, step, extent});
  }
  return true;
}

uint64_t Region::runs() const {
  uint64_t count = 1;
  for (const Dimension& one : outer_)
    if (__builtin_mul_overflow(count, one.count, &count)) return UINT64_MAX;
  return count;
}

template <class Use>
bool Region::any_run(uint64_t from, uint64_t to, uint64_t base, size_t dimension, Use&& use) const {
  if (base >= to || base + extent(dimension) <= from) return false;
  if (dimension == outer_.size()) return use(base, base + run_);
  const auto [count, step, whole] = outer_[dimension];
  const uint64_t inside = extent(dimension + 1);
  const uint64_t first = base + inside > from ? 0 : (from - base - inside) / step + 1;
  const uint64_t last = std::min(count - 1, (to - 1 - base) / step);
  for (uint64_t i = first; i <= last; ++i)
    if (any_run(from, to, base + i * step, dimension + 1, use)) return true;
  return false;
}

bool Region::overlaps(const Region& other) const {
  const uint64_t from = std::max(begin_, other.begin_), to = std::min(end(), other.end());
  if (from >= to || empty() || other.empty()) return false;
  if (dense() && other.dense()) return true;
  const bool swap = other.runs() < runs();
  const Region &few = swap ? other : *this, &many = swap ? *this : other;
  uint64_t left = kLookedAt;
  bool found = false;
  const auto hits = [&](uint64_t, uint64_t) { return found = true; };
  few.any_run(from, to, few.begin_, 0, [&](uint64_t begin, uint64_t end) {
    return many.any_run(begin, end, many.begin_, 0, hits) || --left == 0;
  });
  return found;
}

}  // namespace jitc::software::order
