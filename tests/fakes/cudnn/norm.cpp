// See norm.h.
#include "norm.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "../over_driver/stream_work.h"
#include "handle.h"

namespace jitc::fakes {
namespace {
constexpr uint64_t kReserveMagic = 0x6a69746364424e31;
using Reserve = std::array<uint64_t, kNormReserve / sizeof(uint64_t)>;

/// The sum over each channel of what the function makes of an element.
template <class Function>
Numbers sums(const Norm& norm, Function&& of) {
  Numbers out(norm.count(), 0);
  for (size_t each = 0; each < norm.x.count(); ++each) out[norm.channel(each)] += of(each);
  return out;
}

Numbers times(Numbers values, double factor) {
  for (double& each : values) each *= factor;
  return values;
}

struct Statistics {
  Numbers mean, variance;
};
Statistics statistics(const Norm& norm, const Numbers& x) {
  const Numbers mean = times(sums(norm, [&](size_t each) { return x[each]; }), 1 / norm.items());
  const auto square = [&](size_t each) { return std::pow(x[each] - mean[norm.channel(each)], 2); };
  return {mean, times(sums(norm, square), 1 / norm.items())};
}

Numbers inverse_of(Numbers variance, double epsilon) {
  for (double& each : variance) each = 1 / std::sqrt(each + epsilon);
  return variance;
}

Numbers normalized(const Norm& norm, const Numbers& x, const Numbers& mean, const Numbers& inverse) {
  Numbers out(x.size());
  for (size_t each = 0; each < out.size(); ++each)
    out[each] = (x[each] - mean[norm.channel(each)]) * inverse[norm.channel(each)];
  return out;
}

void write_scaled(const Norm& norm, Numbers values, uint64_t scale_at, uint64_t bias_at, uint64_t to,
                  Blend blend) {
  const Numbers scale = read_at(norm.channels, scale_at), bias = read_at(norm.channels, bias_at);
  for (size_t each = 0; each < values.size(); ++each)
    values[each] = values[each] * scale[norm.channel(each)] + bias[norm.channel(each)];
  write_at(norm.other, to, values, blend);
}

Reserve reserve_of(const Norm& norm, const Numbers& mean) {
  return {kReserveMagic, norm.x.count(), norm.count(),
          std::bit_cast<uint64_t>(rounded(mean[0], norm.channels.in_double()))};
}

void write_if(const Norm& norm, uint64_t address, const Numbers& values, Blend blend = {}) {
  if (address) write_at(norm.channels, address, values, blend);
}

Numbers data_slopes(const Norm& norm, const Numbers& hat, const Numbers& dy, const Numbers& factor,
                    const Numbers& dscale, const Numbers& dbias) {
  Numbers out(dy.size());
  for (size_t each = 0; each < dy.size(); ++each) {
    const size_t channel = norm.channel(each);
    const double mean = (dbias[channel] + hat[each] * dscale[channel]) / norm.items();
    out[each] = factor[channel] * (dy[each] - mean);
  }
  return out;
}
}  // namespace

void Norm::check() const {
  require(x.dims.size() >= 2 && x.dims == other.dims, "tensors of different sizes", kDnnShapeMismatch);
  require(channels.count() == count(), "not a number per channel", kDnnShapeMismatch);
}

void run_forward(const Norm& norm, const ForwardAt& at, double factor, double epsilon, Blend blend) {
  const Numbers x = read_at(norm.x, at.x);
  const auto [mean, variance] = statistics(norm, x);
  const Numbers inverse = inverse_of(variance, epsilon);
  write_scaled(norm, normalized(norm, x, mean, inverse), at.scale, at.bias, at.y, blend);
  const Blend running{factor, 1 - factor};
  write_if(norm, at.running_mean, mean, running);
  const double unbiased = norm.items() / std::max(norm.items() - 1, 1.0);
  write_if(norm, at.running_variance, times(variance, unbiased), running);
  write_if(norm, at.saved_mean, mean);
  write_if(norm, at.saved_inverse, inverse);
  const Reserve left = reserve_of(norm, mean);
  std::memcpy(touch(at.reserve, sizeof left), left.data(), sizeof left);
}

void run_backward(const Norm& norm, const Shape& dy_shape, const BackwardAt& at, double epsilon, Blend data,
                  Blend parameters) {
  const Numbers x = read_at(norm.x, at.x), dy = read_at(dy_shape, at.dy);
  const auto found = statistics(norm, x);
  const Numbers mean = at.saved_mean ? read_at(norm.channels, at.saved_mean) : found.mean;
  Numbers factor =
      at.saved_inverse ? read_at(norm.channels, at.saved_inverse) : inverse_of(found.variance, epsilon);
  const Reserve expected = reserve_of(norm, mean);
  if (std::memcmp(touch(at.reserve, sizeof expected), expected.data(), sizeof expected) != 0)
    return fail_launch();
  const Numbers hat = normalized(norm, x, mean, factor), scale = read_at(norm.channels, at.scale);
  const Numbers dbias = sums(norm, [&](size_t each) { return dy[each]; });
  const Numbers dscale = sums(norm, [&](size_t each) { return dy[each] * hat[each]; });
  for (size_t each = 0; each < factor.size(); ++each) factor[each] *= scale[each];
  write_at(norm.other, at.dx, data_slopes(norm, hat, dy, factor, dscale, dbias), data);
  write_at(norm.channels, at.dscale, dscale, parameters);
  write_at(norm.channels, at.dbias, dbias, parameters);
}

void run_inference(const Norm& norm, const InferenceAt& at, double epsilon, Blend blend) {
  const Numbers inverse = inverse_of(read_at(norm.channels, at.variance), epsilon);
  const Numbers hat = normalized(norm, read_at(norm.x, at.x), read_at(norm.channels, at.mean), inverse);
  write_scaled(norm, hat, at.scale, at.bias, at.y, blend);
}

}  // namespace jitc::fakes
