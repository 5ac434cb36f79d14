// Convolutions as the fake cuDNN computes them, for the graph API and the older one. Used by graph_operations
// and convolution.
#pragma once
#include "tensor.h"

namespace jitc::fakes {

enum class Direction { forward, data, filter };

/// How the filter moves, an entry per spatial dimension.
struct Moves {
  std::vector<int64_t> before = {}, after = {}, strides = {}, dilations = {};
  bool flipped = false;
};

/// y = x * w, or the gradient of x or w. Groups are those that the channels of x and w tell.
struct Convolve {
  Direction direction = Direction::forward;
  Shape x = {}, w = {}, y = {};
  Moves moves = {};

  const Shape& first() const { return direction == Direction::data ? w : x; }
  const Shape& second() const { return direction == Direction::forward ? w : y; }
  const Shape& result() const;
  /// Throws kDnnBadParam, kDnnShapeMismatch or kDnnNotSupported.
  void check() const;
  /// Of the content of first() and second(); sums from their last term on when it is backwards: other
  /// rounding.
  Numbers compute(const Numbers& first, const Numbers& second, bool backwards) const;
};

}  // namespace jitc::fakes
