// Batch normalization over all but the channels, without activation or sum. What forward leaves in the
// reserve space names the tensor it was for; backward faults when that is not there.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "../over_driver/stream_work.h"
#include "descriptors.h"
#include "functions.h"
#include "handle.h"

namespace jitc::fakes {
namespace {
enum Mode { kPerActivation = 0, kSpatial = 1, kSpatialPersistent = 2 };
constexpr size_t kForwardWorkspace = 256, kBackwardWorkspace = 512;  // bytes per channel
constexpr uint64_t kReserveMagic = 0x6a69746364424e31;
using Reserve = std::array<uint64_t, 8>;
constexpr size_t kReserveBytes = sizeof(Reserve);

/// Throws what is wrong with the mode or operations.
void check_kind(int mode, int ops) {
  require(mode >= kPerActivation && mode <= kSpatialPersistent && ops >= 0 && ops <= 2, "no such mode");
  require(mode != kPerActivation && ops == 0, "a normalization that is not supported", kDnnNotSupported);
}

/// Tensors with channels in the second dimension, and what belongs to a channel.
struct Norm {
  Shape x, other, channels;  // other: y or dx, dy alike

  Norm(const void* x_descriptor, const void* other_descriptor, const void* channel_descriptor)
      : x(tensor(x_descriptor)), other(tensor(other_descriptor)), channels(tensor(channel_descriptor)) {
    require(x.dims.size() >= 2 && x.dims == other.dims, "tensors of different sizes", kDnnShapeMismatch);
    require(channels.count() == count(), "not a number per channel", kDnnShapeMismatch);
  }
  size_t count() const { return static_cast<size_t>(x.dims[1]); }
  size_t area() const { return x.count() / static_cast<size_t>(x.dims[0]) / count(); }
  size_t channel(size_t element) const { return element / area() % count(); }
  double items() const { return static_cast<double>(x.count() / count()); }

  /// The sum over each channel of what the function makes of an element.
  template <class Function>
  Numbers sums(Function&& of) const {
    Numbers out(count(), 0);
    for (size_t each = 0; each < x.count(); ++each) out[channel(each)] += of(each);
    return out;
  }
};

struct Statistics {
  Numbers mean, variance;
};
Statistics statistics(const Norm& norm, const Numbers& x) {
  Numbers mean = norm.sums([&](size_t each) { return x[each]; });
  for (double& each : mean) each /= norm.items();
  Numbers variance = norm.sums([&](size_t each) { return std::pow(x[each] - mean[norm.channel(each)], 2); });
  for (double& each : variance) each /= norm.items();
  return {mean, variance};
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

Numbers scaled(const Norm& norm, Numbers values, const Numbers& scale, const Numbers& bias) {
  for (size_t each = 0; each < values.size(); ++each)
    values[each] = values[each] * scale[norm.channel(each)] + bias[norm.channel(each)];
  return values;
}

Reserve reserve_of(const Norm& norm, const Numbers& mean) {
  return {kReserveMagic, norm.x.count(), norm.count(),
          std::bit_cast<uint64_t>(rounded(mean[0], norm.channels.in_double()))};
}

/// running = (1 - factor) * running + factor * batch, where there is one.
void update_running(const Norm& norm, uint64_t address, const Numbers& batch, double factor) {
  if (address) write_at(norm.channels, address, batch, {factor, 1 - factor});
}

Numbers unbiased(const Norm& norm, Numbers variance) {
  for (double& each : variance) each *= norm.items() / std::max(norm.items() - 1, 1.0);
  return variance;
}

struct Backward {
  Numbers dx, dscale, dbias;
};
Backward backward(const Norm& norm, const Numbers& hat, const Numbers& dy, const Numbers& scale,
                  const Numbers& inverse) {
  Backward out;
  out.dbias = norm.sums([&](size_t each) { return dy[each]; });
  out.dscale = norm.sums([&](size_t each) { return dy[each] * hat[each]; });
  for (size_t each = 0; each < dy.size(); ++each) {
    const size_t channel = norm.channel(each);
    const double away = (out.dbias[channel] + hat[each] * out.dscale[channel]) / norm.items();
    out.dx.push_back(scale[channel] * inverse[channel] * (dy[each] - away));
  }
  return out;
}

void check_space(const void* workspace, size_t workspace_bytes, size_t needed, const void* reserve,
                 size_t reserve_bytes) {
  given(workspace);
  given(reserve);
  require(workspace_bytes >= needed && reserve_bytes >= kReserveBytes, "a space that is too small");
}

void note_blend(CallLine& line, const char* alpha, const char* beta, Blend blend) {
  line.add(Field::real(alpha, blend.alpha));
  line.add(Field::real(beta, blend.beta));
}
}  // namespace

int cudnnBatchNormalizationForwardTrainingEx(void* handle, int mode, int ops, const void* alpha,
                                             const void* beta, void* x_descriptor, const void* x,
                                             void* z_descriptor, const void* z, void* y_descriptor, void* y,
                                             void* channel_descriptor, const void* scale, const void* bias,
                                             double factor, void* running_mean, void* running_variance,
                                             double epsilon, void* saved_mean, void* saved_inverse,
                                             void* activation, void* workspace, size_t workspace_bytes,
                                             void* reserve, size_t reserve_bytes) {
  const std::tuple shown(handle, mode, ops, alpha, beta, x_descriptor, x, z_descriptor, z, y_descriptor, y,
                         channel_descriptor, scale, bias, factor, running_mean, running_variance, epsilon,
                         saved_mean, saved_inverse, activation, workspace, workspace_bytes, reserve,
                         reserve_bytes);
  return dnn_call("cudnnBatchNormalizationForwardTrainingEx", shown, [&](CallLine& line) {
    const auto stream = object<DnnHandle>(handle);
    check_optional_tensor(z_descriptor);
    check_optional_activation(activation);
    check_kind(mode, ops);
    const Norm norm(x_descriptor, y_descriptor, channel_descriptor);
    const size_t space = kForwardWorkspace * norm.count();
    check_space(workspace, workspace_bytes, space, reserve, reserve_bytes);
    const Blend blend = blend_of(norm.other, alpha, beta);
    note_blend(line, "alpha_value", "beta_value", blend);
    for (const void* each : {x, static_cast<const void*>(y), scale, bias}) given(each);
    submit(line, *stream, [=] {
      use_workspace(address_of(workspace), space);
      const Numbers content = read_at(norm.x, address_of(x));
      const auto [mean, variance] = statistics(norm, content);
      const Numbers inverse = inverse_of(variance, epsilon);
      write_at(norm.other, address_of(y),
               scaled(norm, normalized(norm, content, mean, inverse),
                      read_at(norm.channels, address_of(scale)), read_at(norm.channels, address_of(bias))),
               blend);
      update_running(norm, address_of(running_mean), mean, factor);
      update_running(norm, address_of(running_variance), unbiased(norm, variance), factor);
      if (saved_mean) write_at(norm.channels, address_of(saved_mean), mean);
      if (saved_inverse) write_at(norm.channels, address_of(saved_inverse), inverse);
      const Reserve left = reserve_of(norm, mean);
      std::memcpy(touch(address_of(reserve), kReserveBytes), left.data(), kReserveBytes);
    });
  });
}

int cudnnBatchNormalizationBackwardEx(void* handle, int mode, int ops, const void* alpha_data,
                                      const void* beta_data, const void* alpha_param, const void* beta_param,
                                      void* x_descriptor, const void* x, void* y_descriptor, const void* y,
                                      void* dy_descriptor, const void* dy, void* dz_descriptor, void* dz,
                                      void* dx_descriptor, void* dx, void* channel_descriptor,
                                      const void* scale, const void* bias, void* dscale, void* dbias,
                                      double epsilon, const void* saved_mean, const void* saved_inverse,
                                      void* activation, void* workspace, size_t workspace_bytes,
                                      void* reserve, size_t reserve_bytes) {
  const std::tuple shown(handle, mode, ops, alpha_data, beta_data, alpha_param, beta_param, x_descriptor, x,
                         y_descriptor, y, dy_descriptor, dy, dz_descriptor, dz, dx_descriptor, dx,
                         channel_descriptor, scale, bias, dscale, dbias, epsilon, saved_mean, saved_inverse,
                         activation, workspace, workspace_bytes, reserve, reserve_bytes);
  return dnn_call("cudnnBatchNormalizationBackwardEx", shown, [&](CallLine& line) {
    const auto stream = object<DnnHandle>(handle);
    check_optional_tensor(y_descriptor);
    check_optional_tensor(dz_descriptor);
    check_optional_activation(activation);
    check_kind(mode, ops);
    const Norm norm(x_descriptor, dx_descriptor, channel_descriptor);
    const Shape dy_shape = tensor(dy_descriptor);
    require(dy_shape.dims == norm.x.dims, "tensors of different sizes", kDnnShapeMismatch);
    const size_t space = kBackwardWorkspace * norm.count();
    check_space(workspace, workspace_bytes, space, reserve, reserve_bytes);
    const Blend data = blend_of(norm.other, alpha_data, beta_data),
                parameters = blend_of(norm.other, alpha_param, beta_param);
    note_blend(line, "alpha_data_value", "beta_data_value", data);
    note_blend(line, "alpha_param_value", "beta_param_value", parameters);
    require((saved_mean == nullptr) == (saved_inverse == nullptr), "one of the saved statistics");
    for (const void* each : {x, dy, static_cast<const void*>(dx), scale}) given(each);
    given(dscale);
    given(dbias);
    submit(line, *stream, [=] {
      use_workspace(address_of(workspace), space);
      const Numbers content = read_at(norm.x, address_of(x));
      Numbers mean, inverse;
      if (saved_mean) {
        mean = read_at(norm.channels, address_of(saved_mean));
        inverse = read_at(norm.channels, address_of(saved_inverse));
      } else {
        const auto found = statistics(norm, content);
        mean = found.mean;
        inverse = inverse_of(found.variance, epsilon);
      }
      const Reserve expected = reserve_of(norm, mean);
      if (std::memcmp(touch(address_of(reserve), kReserveBytes), expected.data(), kReserveBytes) != 0)
        return fail_launch();
      const Backward out =
          backward(norm, normalized(norm, content, mean, inverse), read_at(dy_shape, address_of(dy)),
                   read_at(norm.channels, address_of(scale)), inverse);
      write_at(norm.other, address_of(dx), out.dx, data);
      write_at(norm.channels, address_of(dscale), out.dscale, parameters);
      write_at(norm.channels, address_of(dbias), out.dbias, parameters);
    });
  });
}

int cudnnBatchNormalizationForwardInference(void* handle, int mode, const void* alpha, const void* beta,
                                            void* x_descriptor, const void* x, void* y_descriptor, void* y,
                                            void* channel_descriptor, const void* scale, const void* bias,
                                            const void* mean, const void* variance, double epsilon) {
  const std::tuple shown(handle, mode, alpha, beta, x_descriptor, x, y_descriptor, y, channel_descriptor,
                         scale, bias, mean, variance, epsilon);
  return dnn_call("cudnnBatchNormalizationForwardInference", shown, [&](CallLine& line) {
    const auto stream = object<DnnHandle>(handle);
    check_kind(mode, 0);
    const Norm norm(x_descriptor, y_descriptor, channel_descriptor);
    const Blend blend = blend_of(norm.other, alpha, beta);
    note_blend(line, "alpha_value", "beta_value", blend);
    for (const void* each : {x, static_cast<const void*>(y), scale, bias, mean, variance}) given(each);
    submit(line, *stream, [=] {
      const Numbers inverse = inverse_of(read_at(norm.channels, address_of(variance)), epsilon);
      const Numbers hat =
          normalized(norm, read_at(norm.x, address_of(x)), read_at(norm.channels, address_of(mean)), inverse);
      write_at(norm.other, address_of(y),
               scaled(norm, hat, read_at(norm.channels, address_of(scale)),
                      read_at(norm.channels, address_of(bias))),
               blend);
    });
  });
}

int cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(void* handle, int mode, int ops, void* x,
                                                             void* z, void* y, void* channel,
                                                             void* activation, size_t* size) {
  const std::tuple shown(handle, mode, ops, x, z, y, channel, activation);
  return dnn_call("cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize", shown, [&](CallLine&) {
    object<DnnHandle>(handle);
    check_optional_tensor(z);
    check_optional_activation(activation);
    check_kind(mode, ops);
    *given(size) = kForwardWorkspace * Norm(x, y, channel).count();
  });
}

int cudnnGetBatchNormalizationBackwardExWorkspaceSize(void* handle, int mode, int ops, void* x, void* y,
                                                      void* dy, void* dz, void* dx, void* channel,
                                                      void* activation, size_t* size) {
  const std::tuple shown(handle, mode, ops, x, y, dy, dz, dx, channel, activation);
  return dnn_call("cudnnGetBatchNormalizationBackwardExWorkspaceSize", shown, [&](CallLine&) {
    object<DnnHandle>(handle);
    check_optional_tensor(y);
    check_optional_tensor(dz);
    check_optional_activation(activation);
    check_kind(mode, ops);
    tensor(dy);
    *given(size) = kBackwardWorkspace * Norm(x, dx, channel).count();
  });
}

int cudnnGetBatchNormalizationTrainingExReserveSpaceSize(void* handle, int mode, int ops, void* activation,
                                                         void* x, size_t* size) {
  const std::tuple shown(handle, mode, ops, activation, x);
  return dnn_call("cudnnGetBatchNormalizationTrainingExReserveSpaceSize", shown, [&](CallLine&) {
    object<DnnHandle>(handle);
    check_optional_activation(activation);
    check_kind(mode, ops);
    tensor(x);
    *given(size) = kReserveBytes;
  });
}

}  // namespace jitc::fakes
