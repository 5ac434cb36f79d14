// See convolve.h.
#include "convolve.h"

#include <array>

#include "call.h"

namespace jitc::fakes {
namespace {
constexpr size_t kSpatial = 3;
using Place = std::array<int64_t, kSpatial>;

int64_t volume(const Place& place) { return place[0] * place[1] * place[2]; }

/// The number's digits in the mixed base of the dimensions.
Place place_of(int64_t number, const Place& dims) {
  return {number / dims[2] / dims[1], number / dims[2] % dims[1], number % dims[2]};
}

/// The list in the last places, others before it.
Place fill(const std::vector<int64_t>& list, size_t from, int64_t others) {
  Place out = {others, others, others};
  const size_t count = list.size() - from;
  for (size_t axis = 0; axis < count; ++axis) out[kSpatial - count + axis] = list[from + axis];
  return out;
}

/// A tensor of two leading dimensions and spatial ones, without gaps.
struct Box {
  explicit Box(const Shape& shape)
      : outer(shape.dims[0]), inner(shape.dims[1]), spatial(fill(shape.dims, 2, 1)) {}
  int64_t outer, inner;
  Place spatial;

  size_t at(int64_t a, int64_t b, const Place& p) const {
    const int64_t line = (a * inner + b) * spatial[0] + p[0];
    return static_cast<size_t>((line * spatial[1] + p[1]) * spatial[2] + p[2]);
  }
};

/// Every product that a convolution is the sum of, in order or from the last one on.
class Terms {
 public:
  explicit Terms(const Convolve& what)
      : x_(what.x),
        w_(what.w),
        y_(what.y),
        before_(fill(what.moves.before, 0, 0)),
        strides_(fill(what.moves.strides, 0, 1)),
        dilations_(fill(what.moves.dilations, 0, 1)),
        flipped_(what.moves.flipped) {}

  /// visit(element of x, of w, of y)
  template <class Visit>
  void each(bool backwards, Visit&& visit) const {
    const int64_t area = volume(y_.spatial), points = y_.outer * y_.inner * area;
    for (int64_t step = 0; step < points; ++step) {
      const int64_t point = backwards ? points - 1 - step : step;
      const Place out = place_of(point % area, y_.spatial);
      taps(point / area / y_.inner, point / area % y_.inner, out, backwards, visit);
    }
  }

 private:
  template <class Visit>
  void taps(int64_t item, int64_t channel, const Place& out, bool backwards, Visit&& visit) const {
    const int64_t first = channel / (w_.outer / (x_.inner / w_.inner)) * w_.inner;  // of the group
    const int64_t area = volume(w_.spatial), taps = w_.inner * area;
    for (int64_t step = 0; step < taps; ++step) {
      const int64_t tap = backwards ? taps - 1 - step : step, from = tap / area;
      const Place in_filter = place_of(tap % area, w_.spatial);
      Place in;
      if (!under(out, in_filter, in)) continue;
      visit(x_.at(item, first + from, in), w_.at(channel, from, turned(in_filter)),
            y_.at(item, channel, out));
    }
  }

  /// Where x is under the filter; false: in the padding.
  bool under(const Place& out, const Place& in_filter, Place& in) const {
    for (size_t axis = 0; axis < kSpatial; ++axis) {
      in[axis] = out[axis] * strides_[axis] + in_filter[axis] * dilations_[axis] - before_[axis];
      if (in[axis] < 0 || in[axis] >= x_.spatial[axis]) return false;
    }
    return true;
  }

  Place turned(const Place& p) const {
    const Place& size = w_.spatial;
    return flipped_ ? Place{size[0] - 1 - p[0], size[1] - 1 - p[1], size[2] - 1 - p[2]} : p;
  }

  Box x_, w_, y_;
  Place before_, strides_, dilations_;
  bool flipped_;
};

/// How many places the filter has along an axis.
int64_t steps(const Convolve& what, size_t axis) {
  const Moves& moves = what.moves;
  const int64_t reach = (what.w.dims[axis + 2] - 1) * moves.dilations[axis] + 1;
  const int64_t room = what.x.dims[axis + 2] + moves.before[axis] + moves.after[axis] - reach;
  return room < 0 ? 0 : room / moves.strides[axis] + 1;
}
}  // namespace

const Shape& Convolve::result() const {
  return direction == Direction::forward ? y : direction == Direction::data ? x : w;
}

void Convolve::check() const {
  const size_t rank = x.dims.size(), spatial = moves.strides.size();
  for (const Shape* each : {&x, &w, &y}) each->check();
  require(rank >= 3 && rank <= 2 + kSpatial, "not 1 to 3 spatial dimensions", kDnnNotSupported);
  require(w.dims.size() == rank && y.dims.size() == rank && spatial == rank - 2 &&
              moves.before.size() == spatial && moves.after.size() == spatial &&
              moves.dilations.size() == spatial,
          "tensors of different ranks", kDnnShapeMismatch);
  require(x.dims[0] == y.dims[0] && w.dims[0] == y.dims[1] && x.dims[1] % w.dims[1] == 0 &&
              w.dims[0] % (x.dims[1] / w.dims[1]) == 0,
          "channels that do not fit together", kDnnShapeMismatch);
  for (size_t axis = 0; axis < spatial; ++axis) {
    const auto within = [axis](const std::vector<int64_t>& list, int64_t least) {
      return list[axis] >= least && list[axis] <= kMostStep;
    };
    require(within(moves.strides, 1) && within(moves.dilations, 1) && within(moves.before, 0) &&
                within(moves.after, 0),
            "a stride, dilation or padding out of range");
    require(steps(*this, axis) == y.dims[axis + 2], "an output of another size", kDnnShapeMismatch);
  }
}

Numbers Convolve::compute(const Numbers& a, const Numbers& b, bool backwards) const {
  Numbers out(result().count(), 0);
  const bool in_double = result().in_double();
  const auto add = [&](size_t to, size_t left, size_t right) {
    out[to] = rounded(out[to] + a[left] * b[right], in_double);
  };
  Terms(*this).each(backwards, [&](size_t in_x, size_t in_w, size_t in_y) {
    if (direction == Direction::forward)
      add(in_y, in_x, in_w);
    else if (direction == Direction::data)
      add(in_x, in_w, in_y);
    else
      add(in_w, in_x, in_y);
  });
  return out;
}

}  // namespace jitc::fakes
