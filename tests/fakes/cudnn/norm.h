// Batch normalization as the fake cuDNN computes it, for work on a stream. Used by batch_norm.
// Promises: what forward leaves in the reserve space names its tensor and statistics; backward faults when
// that is not there.
#pragma once
#include "tensor.h"

namespace jitc::fakes {

constexpr size_t kNormReserve = 64;  // bytes

/// Tensors with channels in the second dimension, and a number per channel. The other one is y or dx.
struct Norm {
  Shape x, other, channels;

  /// Throws kDnnShapeMismatch.
  void check() const;
  size_t count() const { return static_cast<size_t>(x.dims[1]); }
  size_t area() const { return x.count() / static_cast<size_t>(x.dims[0]) / count(); }
  size_t channel(size_t element) const { return element / area() % count(); }
  /// How many elements a channel has.
  double items() const { return static_cast<double>(x.count() / count()); }
};

/// Where the caller's memory lies; running and saved statistics may be missing: 0.
struct ForwardAt {
  uint64_t x, y, scale, bias, running_mean, running_variance, saved_mean, saved_inverse, reserve;
};
struct BackwardAt {
  uint64_t x, dy, dx, scale, dscale, dbias, saved_mean, saved_inverse, reserve;
};
struct InferenceAt {
  uint64_t x, y, scale, bias, mean, variance;
};

void run_forward(const Norm& norm, const ForwardAt& at, double factor, double epsilon, Blend blend);
void run_backward(const Norm& norm, const Shape& dy, const BackwardAt& at, double epsilon, Blend data,
                  Blend parameters);
void run_inference(const Norm& norm, const InferenceAt& at, double epsilon, Blend blend);

}  // namespace jitc::fakes
