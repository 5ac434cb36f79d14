// Batch normalization of the older API: over all but the channels, without activation or sum.
#include "descriptors.h"
#include "functions.h"
#include "handle.h"
#include "norm.h"

namespace jitc::fakes {
namespace {
enum Mode { kPerActivation = 0, kSpatial = 1, kSpatialPersistent = 2 };
constexpr size_t kForwardWorkspace = 256, kBackwardWorkspace = 512;  // bytes per channel

/// Throws what is wrong with the mode or operations.
void check_kind(int mode, int ops) {
  require(mode >= kPerActivation && mode <= kSpatialPersistent && ops >= 0 && ops <= 2, "no such mode");
  require(mode != kPerActivation && ops == 0, "a normalization that is not supported", kDnnNotSupported);
}

Norm norm_of(const void* x, const void* other, const void* channels) {
  Norm norm{tensor(x), tensor(other), tensor(channels)};
  norm.check();
  return norm;
}

void check_space(const void* workspace, size_t workspace_bytes, size_t needed, const void* reserve,
                 size_t reserve_bytes) {
  given(workspace);
  given(reserve);
  require(workspace_bytes >= needed && reserve_bytes >= kNormReserve, "a space that is too small");
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
    const Norm norm = norm_of(x_descriptor, y_descriptor, channel_descriptor);
    const size_t space = kForwardWorkspace * norm.count();
    check_space(workspace, workspace_bytes, space, reserve, reserve_bytes);
    const Blend blend = blend_of(norm.other, alpha, beta);
    note_blend(line, "alpha_value", "beta_value", blend);
    for (const void* each : {x, static_cast<const void*>(y), scale, bias}) given(each);
    const ForwardAt at{address_of(x),
                       address_of(y),
                       address_of(scale),
                       address_of(bias),
                       address_of(running_mean),
                       address_of(running_variance),
                       address_of(saved_mean),
                       address_of(saved_inverse),
                       address_of(reserve)};
    submit(line, *stream, [=] {
      use_workspace(address_of(workspace), space);
      run_forward(norm, at, factor, epsilon, blend);
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
    const Norm norm = norm_of(x_descriptor, dx_descriptor, channel_descriptor);
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
    const BackwardAt at{
        address_of(x),      address_of(dy),    address_of(dx),         address_of(scale),
        address_of(dscale), address_of(dbias), address_of(saved_mean), address_of(saved_inverse),
        address_of(reserve)};
    submit(line, *stream, [=] {
      use_workspace(address_of(workspace), space);
      run_backward(norm, dy_shape, at, epsilon, data, parameters);
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
    const Norm norm = norm_of(x_descriptor, y_descriptor, channel_descriptor);
    const Blend blend = blend_of(norm.other, alpha, beta);
    note_blend(line, "alpha_value", "beta_value", blend);
    for (const void* each : {x, static_cast<const void*>(y), scale, bias, mean, variance}) given(each);
    const InferenceAt at{address_of(x),    address_of(y),    address_of(scale),
                         address_of(bias), address_of(mean), address_of(variance)};
    submit(line, *stream, [=] { run_inference(norm, at, epsilon, blend); });
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
    *given(size) = kForwardWorkspace * norm_of(x, y, channel).count();
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
    *given(size) = kBackwardWorkspace * norm_of(x, dx, channel).count();
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
    *given(size) = kNormReserve;
  });
}

}  // namespace jitc::fakes
