// Bytes that an operand covers: a run, or equal runs at equal distances in several dimensions.
//
// Promises: views that interleave without sharing a byte do not overlap; tensor dimensions without gaps are
// one run; a test for overlap is bounded, and answers no if it would take longer.
// Called by: operands (makes them), AccessMap.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace jitc::software::order {

class Region {
 public:
  /// Makes a run; empty if it would end beyond the last address.
  Region(uint64_t address, uint64_t bytes);
  /// Makes a tensor's region: sizes and strides in elements of so many bytes. Empty if it has no elements, a
  /// negative size or stride, or would end beyond the last address.
  Region(uint64_t address, uint64_t item, std::span<const int64_t> sizes, std::span<const int64_t> strides);

  uint64_t begin() const { return begin_; }
  uint64_t end() const { return begin_ + extent(0); }
  bool empty() const { return run_ == 0; }
  /// Returns whether it has no gaps.
  bool dense() const { return outer_.empty(); }
  bool overlaps(const Region& other) const;
  bool operator==(const Region&) const = default;

 private:
  struct Dimension {
    uint64_t count, step;  // bytes
    uint64_t extent;       // from its first to its last byte, with the dimensions inside it
    bool operator==(const Dimension&) const = default;
  };
  bool add(uint64_t count, uint64_t step);
  uint64_t extent(size_t dimension) const {
    return dimension < outer_.size() ? outer_[dimension].extent : run_;
  }
  uint64_t runs() const;
  /// Calls use with the runs that touch [from, to), until it returns true. Returns whether it did.
  template <class Use>
  bool any_run(uint64_t from, uint64_t to, uint64_t base, size_t dimension, Use&& use) const;

  uint64_t begin_, run_;
  std::vector<Dimension> outer_;  // the largest step first
};

}  // namespace jitc::software::order
