// Generated from interpose/spec by `python -m jitc.interpose.generator`; do not edit.
// clang-format off
#include "api/cudnn/dnn_call.h"

namespace jitc::api {

int32_t cudnnBatchNormalizationBackwardEx(uint64_t handle, int32_t mode, int32_t ops, const void* alpha_data, const void* beta_data, const void* alpha_parameter, const void* beta_parameter, uint64_t x, uint64_t x_data, uint64_t y, uint64_t y_data, uint64_t dy, uint64_t dy_data, uint64_t dz, uint64_t dz_data, uint64_t dx, uint64_t dx_data, uint64_t scale, uint64_t scale_data, uint64_t bias, uint64_t scale_gradient, uint64_t bias_gradient, double epsilon, uint64_t saved_mean, uint64_t saved_variance, uint64_t activation, uint64_t workspace, size_t workspace_bytes, uint64_t reserve, size_t reserve_bytes) {
  return DnnCall(handle, "cudnnBatchNormalizationBackwardEx", 0xf06a5e32).number(mode).number(ops).scalar(alpha_data, scalar_bytes(x)).scalar(beta_data, scalar_bytes(x)).scalar(alpha_parameter, scalar_bytes(x)).scalar(beta_parameter, scalar_bytes(x)).descriptor(x, ops::ObjectKind::tensor).address(x_data).descriptor(y, ops::ObjectKind::tensor).address(y_data).descriptor(dy, ops::ObjectKind::tensor).address(dy_data).descriptor(dz, ops::ObjectKind::tensor).address(dz_data).descriptor(dx, ops::ObjectKind::tensor).address(dx_data).descriptor(scale, ops::ObjectKind::tensor).address(scale_data).address(bias).address(scale_gradient).address(bias_gradient).real(epsilon).address(saved_mean).address(saved_variance).descriptor(activation, ops::ObjectKind::activation).address(workspace).number(workspace_bytes).address(reserve).number(reserve_bytes).run();
}
int32_t cudnnBatchNormalizationForwardInference(uint64_t handle, int32_t mode, const void* alpha, const void* beta, uint64_t x, uint64_t x_data, uint64_t y, uint64_t y_data, uint64_t scale, uint64_t scale_data, uint64_t bias, uint64_t mean, uint64_t variance, double epsilon) {
  return DnnCall(handle, "cudnnBatchNormalizationForwardInference", 0x9859e6fe).number(mode).scalar(alpha, scalar_bytes(x)).scalar(beta, scalar_bytes(x)).descriptor(x, ops::ObjectKind::tensor).address(x_data).descriptor(y, ops::ObjectKind::tensor).address(y_data).descriptor(scale, ops::ObjectKind::tensor).address(scale_data).address(bias).address(mean).address(variance).real(epsilon).run();
}
int32_t cudnnBatchNormalizationForwardTrainingEx(uint64_t handle, int32_t mode, int32_t ops, const void* alpha, const void* beta, uint64_t x, uint64_t x_data, uint64_t z, uint64_t z_data, uint64_t y, uint64_t y_data, uint64_t scale, uint64_t scale_data, uint64_t bias, double factor, uint64_t mean, uint64_t variance, double epsilon, uint64_t saved_mean, uint64_t saved_variance, uint64_t activation, uint64_t workspace, size_t workspace_bytes, uint64_t reserve, size_t reserve_bytes) {
  return DnnCall(handle, "cudnnBatchNormalizationForwardTrainingEx", 0x9378c44c).number(mode).number(ops).scalar(alpha, scalar_bytes(x)).scalar(beta, scalar_bytes(x)).descriptor(x, ops::ObjectKind::tensor).address(x_data).descriptor(z, ops::ObjectKind::tensor).address(z_data).descriptor(y, ops::ObjectKind::tensor).address(y_data).descriptor(scale, ops::ObjectKind::tensor).address(scale_data).address(bias).real(factor).address(mean).address(variance).real(epsilon).address(saved_mean).address(saved_variance).descriptor(activation, ops::ObjectKind::activation).address(workspace).number(workspace_bytes).address(reserve).number(reserve_bytes).run();
}
int32_t cudnnCTCLoss(uint64_t handle, uint64_t probabilities, uint64_t probabilities_data, const int32_t* labels, const int32_t* label_lengths, const int32_t* lengths, uint64_t costs, uint64_t gradients, uint64_t gradients_data, int32_t algorithm, uint64_t loss, uint64_t workspace, size_t workspace_bytes) {
  return DnnCall(handle, "cudnnCTCLoss", 0x153e9a9a).descriptor(probabilities, ops::ObjectKind::tensor).address(probabilities_data).array(labels, sum_of(label_lengths, size_of(probabilities, 1))).array(label_lengths, size_of(probabilities, 1)).array(lengths, size_of(probabilities, 1)).address(costs).descriptor(gradients, ops::ObjectKind::tensor).address(gradients_data).number(algorithm).descriptor(loss, ops::ObjectKind::ctc_loss).address(workspace).number(workspace_bytes).run();
}
int32_t cudnnCTCLoss_v8(uint64_t handle, int32_t algorithm, uint64_t loss, uint64_t probabilities, uint64_t probabilities_data, uint64_t labels, uint64_t label_lengths, uint64_t lengths, uint64_t costs, uint64_t gradients, uint64_t gradients_data, size_t workspace_bytes, uint64_t workspace) {
  return DnnCall(handle, "cudnnCTCLoss_v8", 0xe744b809).number(algorithm).descriptor(loss, ops::ObjectKind::ctc_loss).descriptor(probabilities, ops::ObjectKind::tensor).address(probabilities_data).address(labels).address(label_lengths).address(lengths).address(costs).descriptor(gradients, ops::ObjectKind::tensor).address(gradients_data).number(workspace_bytes).address(workspace).run();
}
int32_t cudnnConvolutionBackwardData(uint64_t handle, const void* alpha, uint64_t w, uint64_t w_data, uint64_t dy, uint64_t dy_data, uint64_t convolution, int32_t algorithm, uint64_t workspace, size_t workspace_bytes, const void* beta, uint64_t dx, uint64_t dx_data) {
  return DnnCall(handle, "cudnnConvolutionBackwardData", 0x4660a4f6).scalar(alpha, scalar_bytes(w)).descriptor(w, ops::ObjectKind::filter).address(w_data).descriptor(dy, ops::ObjectKind::tensor).address(dy_data).descriptor(convolution, ops::ObjectKind::convolution).number(algorithm).address(workspace).number(workspace_bytes).scalar(beta, scalar_bytes(w)).descriptor(dx, ops::ObjectKind::tensor).address(dx_data).run();
}
int32_t cudnnConvolutionBackwardFilter(uint64_t handle, const void* alpha, uint64_t x, uint64_t x_data, uint64_t dy, uint64_t dy_data, uint64_t convolution, int32_t algorithm, uint64_t workspace, size_t workspace_bytes, const void* beta, uint64_t dw, uint64_t dw_data) {
  return DnnCall(handle, "cudnnConvolutionBackwardFilter", 0x5e3dc2d0).scalar(alpha, scalar_bytes(x)).descriptor(x, ops::ObjectKind::tensor).address(x_data).descriptor(dy, ops::ObjectKind::tensor).address(dy_data).descriptor(convolution, ops::ObjectKind::convolution).number(algorithm).address(workspace).number(workspace_bytes).scalar(beta, scalar_bytes(x)).descriptor(dw, ops::ObjectKind::filter).address(dw_data).run();
}
int32_t cudnnConvolutionBiasActivationForward(uint64_t handle, const void* alpha, uint64_t x, uint64_t x_data, uint64_t w, uint64_t w_data, uint64_t convolution, int32_t algorithm, uint64_t workspace, size_t workspace_bytes, const void* alpha_z, uint64_t z, uint64_t z_data, uint64_t bias, uint64_t bias_data, uint64_t activation, uint64_t y, uint64_t y_data) {
  return DnnCall(handle, "cudnnConvolutionBiasActivationForward", 0xbbe9b7f7).scalar(alpha, scalar_bytes(x)).descriptor(x, ops::ObjectKind::tensor).address(x_data).descriptor(w, ops::ObjectKind::filter).address(w_data).descriptor(convolution, ops::ObjectKind::convolution).number(algorithm).address(workspace).number(workspace_bytes).scalar(alpha_z, scalar_bytes(x)).descriptor(z, ops::ObjectKind::tensor).address(z_data).descriptor(bias, ops::ObjectKind::tensor).address(bias_data).descriptor(activation, ops::ObjectKind::activation).descriptor(y, ops::ObjectKind::tensor).address(y_data).run();
}
int32_t cudnnConvolutionForward(uint64_t handle, const void* alpha, uint64_t x, uint64_t x_data, uint64_t w, uint64_t w_data, uint64_t convolution, int32_t algorithm, uint64_t workspace, size_t workspace_bytes, const void* beta, uint64_t y, uint64_t y_data) {
  return DnnCall(handle, "cudnnConvolutionForward", 0x5c8a6c48).scalar(alpha, scalar_bytes(x)).descriptor(x, ops::ObjectKind::tensor).address(x_data).descriptor(w, ops::ObjectKind::filter).address(w_data).descriptor(convolution, ops::ObjectKind::convolution).number(algorithm).address(workspace).number(workspace_bytes).scalar(beta, scalar_bytes(x)).descriptor(y, ops::ObjectKind::tensor).address(y_data).run();
}
int32_t cudnnCreateActivationDescriptor(uint64_t* made) {
  return create_descriptor(ops::ObjectKind::activation, made);
}
int32_t cudnnCreateCTCLossDescriptor(uint64_t* made) {
  return create_descriptor(ops::ObjectKind::ctc_loss, made);
}
int32_t cudnnCreateConvolutionDescriptor(uint64_t* made) {
  return create_descriptor(ops::ObjectKind::convolution, made);
}
int32_t cudnnCreateDropoutDescriptor(uint64_t* made) {
  return create_descriptor(ops::ObjectKind::dropout, made);
}
int32_t cudnnCreateFilterDescriptor(uint64_t* made) {
  return create_descriptor(ops::ObjectKind::filter, made);
}
int32_t cudnnCreatePoolingDescriptor(uint64_t* made) {
  return create_descriptor(ops::ObjectKind::pooling, made);
}
int32_t cudnnCreateRNNDataDescriptor(uint64_t* made) {
  return create_descriptor(ops::ObjectKind::rnn_data, made);
}
int32_t cudnnCreateRNNDescriptor(uint64_t* made) {
  return create_descriptor(ops::ObjectKind::rnn, made);
}
int32_t cudnnCreateSpatialTransformerDescriptor(uint64_t* made) {
  return create_descriptor(ops::ObjectKind::transformer, made);
}
int32_t cudnnCreateTensorDescriptor(uint64_t* made) {
  return create_descriptor(ops::ObjectKind::tensor, made);
}
int32_t cudnnDestroyActivationDescriptor(uint64_t gone) {
  return destroy_descriptor(ops::ObjectKind::activation, gone);
}
int32_t cudnnDestroyCTCLossDescriptor(uint64_t gone) {
  return destroy_descriptor(ops::ObjectKind::ctc_loss, gone);
}
int32_t cudnnDestroyConvolutionDescriptor(uint64_t gone) {
  return destroy_descriptor(ops::ObjectKind::convolution, gone);
}
int32_t cudnnDestroyDropoutDescriptor(uint64_t gone) {
  return destroy_descriptor(ops::ObjectKind::dropout, gone);
}
int32_t cudnnDestroyFilterDescriptor(uint64_t gone) {
  return destroy_descriptor(ops::ObjectKind::filter, gone);
}
int32_t cudnnDestroyPoolingDescriptor(uint64_t gone) {
  return destroy_descriptor(ops::ObjectKind::pooling, gone);
}
int32_t cudnnDestroyRNNDataDescriptor(uint64_t gone) {
  return destroy_descriptor(ops::ObjectKind::rnn_data, gone);
}
int32_t cudnnDestroyRNNDescriptor(uint64_t gone) {
  return destroy_descriptor(ops::ObjectKind::rnn, gone);
}
int32_t cudnnDestroySpatialTransformerDescriptor(uint64_t gone) {
  return destroy_descriptor(ops::ObjectKind::transformer, gone);
}
int32_t cudnnDestroyTensorDescriptor(uint64_t gone) {
  return destroy_descriptor(ops::ObjectKind::tensor, gone);
}
int32_t cudnnDropoutGetStatesSize(uint64_t handle, size_t* bytes) {
  return DnnCall(handle, "cudnnDropoutGetStatesSize", 0x9784de15).result(bytes, 8).ask();
}
int32_t cudnnFindConvolutionBackwardDataAlgorithmEx(uint64_t handle, uint64_t w, uint64_t w_data, uint64_t dy, uint64_t dy_data, uint64_t convolution, uint64_t dx, uint64_t dx_data, int32_t requested, int32_t* count, void* found, uint64_t workspace, size_t workspace_bytes) {
  return DnnCall(handle, "cudnnFindConvolutionBackwardDataAlgorithmEx", 0x49948d51).descriptor(w, ops::ObjectKind::filter).address(w_data).descriptor(dy, ops::ObjectKind::tensor).address(dy_data).descriptor(convolution, ops::ObjectKind::convolution).descriptor(dx, ops::ObjectKind::tensor).address(dx_data).number(requested).result(count, 4).result(found, int64_t{requested} * 48).address(workspace).number(workspace_bytes).ask();
}
int32_t cudnnFindConvolutionBackwardFilterAlgorithmEx(uint64_t handle, uint64_t x, uint64_t x_data, uint64_t dy, uint64_t dy_data, uint64_t convolution, uint64_t dw, uint64_t dw_data, int32_t requested, int32_t* count, void* found, uint64_t workspace, size_t workspace_bytes) {
  return DnnCall(handle, "cudnnFindConvolutionBackwardFilterAlgorithmEx", 0x0f09777b).descriptor(x, ops::ObjectKind::tensor).address(x_data).descriptor(dy, ops::ObjectKind::tensor).address(dy_data).descriptor(convolution, ops::ObjectKind::convolution).descriptor(dw, ops::ObjectKind::filter).address(dw_data).number(requested).result(count, 4).result(found, int64_t{requested} * 48).address(workspace).number(workspace_bytes).ask();
}
int32_t cudnnFindConvolutionForwardAlgorithmEx(uint64_t handle, uint64_t x, uint64_t x_data, uint64_t w, uint64_t w_data, uint64_t convolution, uint64_t y, uint64_t y_data, int32_t requested, int32_t* count, void* found, uint64_t workspace, size_t workspace_bytes) {
  return DnnCall(handle, "cudnnFindConvolutionForwardAlgorithmEx", 0x5796f669).descriptor(x, ops::ObjectKind::tensor).address(x_data).descriptor(w, ops::ObjectKind::filter).address(w_data).descriptor(convolution, ops::ObjectKind::convolution).descriptor(y, ops::ObjectKind::tensor).address(y_data).number(requested).result(count, 4).result(found, int64_t{requested} * 48).address(workspace).number(workspace_bytes).ask();
}
int32_t cudnnGetBatchNormalizationBackwardExWorkspaceSize(uint64_t handle, int32_t mode, int32_t ops, uint64_t x, uint64_t y, uint64_t dy, uint64_t dz, uint64_t dx, uint64_t scale, uint64_t activation, size_t* bytes) {
  return DnnCall(handle, "cudnnGetBatchNormalizationBackwardExWorkspaceSize", 0x163a1d3c).number(mode).number(ops).descriptor(x, ops::ObjectKind::tensor).descriptor(y, ops::ObjectKind::tensor).descriptor(dy, ops::ObjectKind::tensor).descriptor(dz, ops::ObjectKind::tensor).descriptor(dx, ops::ObjectKind::tensor).descriptor(scale, ops::ObjectKind::tensor).descriptor(activation, ops::ObjectKind::activation).result(bytes, 8).ask();
}
int32_t cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(uint64_t handle, int32_t mode, int32_t ops, uint64_t x, uint64_t z, uint64_t y, uint64_t scale, uint64_t activation, size_t* bytes) {
  return DnnCall(handle, "cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize", 0xb1c9f426).number(mode).number(ops).descriptor(x, ops::ObjectKind::tensor).descriptor(z, ops::ObjectKind::tensor).descriptor(y, ops::ObjectKind::tensor).descriptor(scale, ops::ObjectKind::tensor).descriptor(activation, ops::ObjectKind::activation).result(bytes, 8).ask();
}
int32_t cudnnGetBatchNormalizationTrainingExReserveSpaceSize(uint64_t handle, int32_t mode, int32_t ops, uint64_t activation, uint64_t x, size_t* bytes) {
  return DnnCall(handle, "cudnnGetBatchNormalizationTrainingExReserveSpaceSize", 0xca72a4f8).number(mode).number(ops).descriptor(activation, ops::ObjectKind::activation).descriptor(x, ops::ObjectKind::tensor).result(bytes, 8).ask();
}
int32_t cudnnGetCTCLossWorkspaceSize(uint64_t handle, uint64_t probabilities, uint64_t gradients, const int32_t* labels, const int32_t* label_lengths, const int32_t* lengths, int32_t algorithm, uint64_t loss, size_t* bytes) {
  return DnnCall(handle, "cudnnGetCTCLossWorkspaceSize", 0x598dbc60).descriptor(probabilities, ops::ObjectKind::tensor).descriptor(gradients, ops::ObjectKind::tensor).array(labels, sum_of(label_lengths, size_of(probabilities, 1))).array(label_lengths, size_of(probabilities, 1)).array(lengths, size_of(probabilities, 1)).number(algorithm).descriptor(loss, ops::ObjectKind::ctc_loss).result(bytes, 8).ask();
}
int32_t cudnnGetCTCLossWorkspaceSize_v8(uint64_t handle, int32_t algorithm, uint64_t loss, uint64_t probabilities, uint64_t gradients, size_t* bytes) {
  return DnnCall(handle, "cudnnGetCTCLossWorkspaceSize_v8", 0xc6328a7b).number(algorithm).descriptor(loss, ops::ObjectKind::ctc_loss).descriptor(probabilities, ops::ObjectKind::tensor).descriptor(gradients, ops::ObjectKind::tensor).result(bytes, 8).ask();
}
int32_t cudnnGetConvolutionBackwardDataAlgorithm_v7(uint64_t handle, uint64_t w, uint64_t dy, uint64_t convolution, uint64_t dx, int32_t requested, int32_t* count, void* found) {
  return DnnCall(handle, "cudnnGetConvolutionBackwardDataAlgorithm_v7", 0xf8525cf1).descriptor(w, ops::ObjectKind::filter).descriptor(dy, ops::ObjectKind::tensor).descriptor(convolution, ops::ObjectKind::convolution).descriptor(dx, ops::ObjectKind::tensor).number(requested).result(count, 4).result(found, int64_t{requested} * 48).ask();
}
int32_t cudnnGetConvolutionBackwardDataWorkspaceSize(uint64_t handle, uint64_t w, uint64_t dy, uint64_t convolution, uint64_t dx, int32_t algorithm, size_t* bytes) {
  return DnnCall(handle, "cudnnGetConvolutionBackwardDataWorkspaceSize", 0x0314c6e8).descriptor(w, ops::ObjectKind::filter).descriptor(dy, ops::ObjectKind::tensor).descriptor(convolution, ops::ObjectKind::convolution).descriptor(dx, ops::ObjectKind::tensor).number(algorithm).result(bytes, 8).ask();
}
int32_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(uint64_t handle, uint64_t x, uint64_t dy, uint64_t convolution, uint64_t dw, int32_t requested, int32_t* count, void* found) {
  return DnnCall(handle, "cudnnGetConvolutionBackwardFilterAlgorithm_v7", 0xd19a4443).descriptor(x, ops::ObjectKind::tensor).descriptor(dy, ops::ObjectKind::tensor).descriptor(convolution, ops::ObjectKind::convolution).descriptor(dw, ops::ObjectKind::filter).number(requested).result(count, 4).result(found, int64_t{requested} * 48).ask();
}
int32_t cudnnGetConvolutionBackwardFilterWorkspaceSize(uint64_t handle, uint64_t x, uint64_t dy, uint64_t convolution, uint64_t dw, int32_t algorithm, size_t* bytes) {
  return DnnCall(handle, "cudnnGetConvolutionBackwardFilterWorkspaceSize", 0xf0ea05ae).descriptor(x, ops::ObjectKind::tensor).descriptor(dy, ops::ObjectKind::tensor).descriptor(convolution, ops::ObjectKind::convolution).descriptor(dw, ops::ObjectKind::filter).number(algorithm).result(bytes, 8).ask();
}
int32_t cudnnGetConvolutionForwardAlgorithm_v7(uint64_t handle, uint64_t x, uint64_t w, uint64_t convolution, uint64_t y, int32_t requested, int32_t* count, void* found) {
  return DnnCall(handle, "cudnnGetConvolutionForwardAlgorithm_v7", 0xbe6b1d77).descriptor(x, ops::ObjectKind::tensor).descriptor(w, ops::ObjectKind::filter).descriptor(convolution, ops::ObjectKind::convolution).descriptor(y, ops::ObjectKind::tensor).number(requested).result(count, 4).result(found, int64_t{requested} * 48).ask();
}
int32_t cudnnGetConvolutionForwardWorkspaceSize(uint64_t handle, uint64_t x, uint64_t w, uint64_t convolution, uint64_t y, int32_t algorithm, size_t* bytes) {
  return DnnCall(handle, "cudnnGetConvolutionForwardWorkspaceSize", 0x6ca8e83a).descriptor(x, ops::ObjectKind::tensor).descriptor(w, ops::ObjectKind::filter).descriptor(convolution, ops::ObjectKind::convolution).descriptor(y, ops::ObjectKind::tensor).number(algorithm).result(bytes, 8).ask();
}
int32_t cudnnGetRNNTempSpaceSizes(uint64_t handle, uint64_t rnn, int32_t mode, uint64_t x, size_t* workspace, size_t* reserve) {
  return DnnCall(handle, "cudnnGetRNNTempSpaceSizes", 0xd3add0cb).descriptor(rnn, ops::ObjectKind::rnn).number(mode).descriptor(x, ops::ObjectKind::rnn_data).result(workspace, 8).result(reserve, 8).ask();
}
int32_t cudnnGetRNNWeightSpaceSize(uint64_t handle, uint64_t rnn, size_t* bytes) {
  return DnnCall(handle, "cudnnGetRNNWeightSpaceSize", 0xe90847c0).descriptor(rnn, ops::ObjectKind::rnn).result(bytes, 8).ask();
}
int32_t cudnnPoolingForward(uint64_t handle, uint64_t pooling, const void* alpha, uint64_t x, uint64_t x_data, const void* beta, uint64_t y, uint64_t y_data) {
  return DnnCall(handle, "cudnnPoolingForward", 0x7ed7eee4).descriptor(pooling, ops::ObjectKind::pooling).scalar(alpha, scalar_bytes(x)).descriptor(x, ops::ObjectKind::tensor).address(x_data).scalar(beta, scalar_bytes(x)).descriptor(y, ops::ObjectKind::tensor).address(y_data).run();
}
int32_t cudnnRNNBackwardData_v8(uint64_t handle, uint64_t rnn, uint64_t lengths, uint64_t y, uint64_t y_data, uint64_t dy, uint64_t x, uint64_t dx, uint64_t h, uint64_t hx, uint64_t dhy, uint64_t dhx, uint64_t c, uint64_t cx, uint64_t dcy, uint64_t dcx, size_t weight_bytes, uint64_t weights, size_t workspace_bytes, uint64_t workspace, size_t reserve_bytes, uint64_t reserve) {
  return DnnCall(handle, "cudnnRNNBackwardData_v8", 0x6d52469d).descriptor(rnn, ops::ObjectKind::rnn).address(lengths).descriptor(y, ops::ObjectKind::rnn_data).address(y_data).address(dy).descriptor(x, ops::ObjectKind::rnn_data).address(dx).descriptor(h, ops::ObjectKind::tensor).address(hx).address(dhy).address(dhx).descriptor(c, ops::ObjectKind::tensor).address(cx).address(dcy).address(dcx).number(weight_bytes).address(weights).number(workspace_bytes).address(workspace).number(reserve_bytes).address(reserve).run();
}
int32_t cudnnRNNBackwardWeights_v8(uint64_t handle, uint64_t rnn, int32_t add, uint64_t lengths, uint64_t x, uint64_t x_data, uint64_t h, uint64_t hx, uint64_t y, uint64_t y_data, size_t weight_bytes, uint64_t weights, size_t workspace_bytes, uint64_t workspace, size_t reserve_bytes, uint64_t reserve) {
  return DnnCall(handle, "cudnnRNNBackwardWeights_v8", 0x6f252126).descriptor(rnn, ops::ObjectKind::rnn).number(add).address(lengths).descriptor(x, ops::ObjectKind::rnn_data).address(x_data).descriptor(h, ops::ObjectKind::tensor).address(hx).descriptor(y, ops::ObjectKind::rnn_data).address(y_data).number(weight_bytes).address(weights).number(workspace_bytes).address(workspace).number(reserve_bytes).address(reserve).run();
}
int32_t cudnnRNNForward(uint64_t handle, uint64_t rnn, int32_t mode, uint64_t lengths, uint64_t x, uint64_t x_data, uint64_t y, uint64_t y_data, uint64_t h, uint64_t hx, uint64_t hy, uint64_t c, uint64_t cx, uint64_t cy, size_t weight_bytes, uint64_t weights, size_t workspace_bytes, uint64_t workspace, size_t reserve_bytes, uint64_t reserve) {
  return DnnCall(handle, "cudnnRNNForward", 0xaca80558).descriptor(rnn, ops::ObjectKind::rnn).number(mode).address(lengths).descriptor(x, ops::ObjectKind::rnn_data).address(x_data).descriptor(y, ops::ObjectKind::rnn_data).address(y_data).descriptor(h, ops::ObjectKind::tensor).address(hx).address(hy).descriptor(c, ops::ObjectKind::tensor).address(cx).address(cy).number(weight_bytes).address(weights).number(workspace_bytes).address(workspace).number(reserve_bytes).address(reserve).run();
}
int32_t cudnnRestoreDropoutDescriptor(uint64_t changed, uint64_t handle, float rate, uint64_t states, size_t bytes, uint64_t seed) {
  return DnnChange(ops::ObjectKind::dropout, changed, "cudnnRestoreDropoutDescriptor", 0x79fa2afb).uses(handle).real(rate).address(states).number(bytes).number(seed).apply();
}
int32_t cudnnSetActivationDescriptor(uint64_t changed, int32_t mode, int32_t nan, double coefficient) {
  return DnnChange(ops::ObjectKind::activation, changed, "cudnnSetActivationDescriptor", 0x24cd0434).number(mode).number(nan).real(coefficient).apply();
}
int32_t cudnnSetCTCLossDescriptorEx(uint64_t changed, int32_t data_type, int32_t norm, int32_t nan) {
  return DnnChange(ops::ObjectKind::ctc_loss, changed, "cudnnSetCTCLossDescriptorEx", 0x7ada1b64).data_type(data_type).number(norm).number(nan).apply();
}
int32_t cudnnSetCTCLossDescriptor_v9(uint64_t changed, int32_t data_type, int32_t norm, int32_t gradient, int32_t longest) {
  return DnnChange(ops::ObjectKind::ctc_loss, changed, "cudnnSetCTCLossDescriptor_v9", 0xe7154d8f).data_type(data_type).number(norm).number(gradient).number(longest).apply();
}
int32_t cudnnSetConvolutionGroupCount(uint64_t changed, int32_t groups) {
  return DnnChange(ops::ObjectKind::convolution, changed, "cudnnSetConvolutionGroupCount", 0xf9b5795f).number(groups).apply();
}
int32_t cudnnSetConvolutionMathType(uint64_t changed, int32_t math) {
  return DnnChange(ops::ObjectKind::convolution, changed, "cudnnSetConvolutionMathType", 0x0c5a6b6b).number(math).apply();
}
int32_t cudnnSetConvolutionNdDescriptor(uint64_t changed, int32_t dimensions, const int32_t* padding, const int32_t* strides, const int32_t* dilation, int32_t mode, int32_t data_type) {
  return DnnChange(ops::ObjectKind::convolution, changed, "cudnnSetConvolutionNdDescriptor", 0xb8cbd102).number(dimensions).array(padding, dimensions).array(strides, dimensions).array(dilation, dimensions).number(mode).data_type(data_type).apply();
}
int32_t cudnnSetFilterNdDescriptor(uint64_t changed, int32_t data_type, int32_t format, int32_t dimensions, const int32_t* sizes) {
  return DnnChange(ops::ObjectKind::filter, changed, "cudnnSetFilterNdDescriptor", 0x68c7adec).data_type(data_type).number(format).number(dimensions).sizes(sizes, dimensions).apply();
}
int32_t cudnnSetPooling2dDescriptor(uint64_t changed, int32_t mode, int32_t nan, int32_t vertical_window, int32_t horizontal_window, int32_t vertical_padding, int32_t horizontal_padding, int32_t vertical_stride, int32_t horizontal_stride) {
  return DnnChange(ops::ObjectKind::pooling, changed, "cudnnSetPooling2dDescriptor", 0x01881e8e).number(mode).number(nan).number(vertical_window).number(horizontal_window).number(vertical_padding).number(horizontal_padding).number(vertical_stride).number(horizontal_stride).apply();
}
int32_t cudnnSetRNNDataDescriptor(uint64_t changed, int32_t data_type, int32_t layout, int32_t length, int32_t batch, int32_t width, const int32_t* lengths, const void* padding) {
  return DnnChange(ops::ObjectKind::rnn_data, changed, "cudnnSetRNNDataDescriptor", 0x1feba534).data_type(data_type).number(layout).number(length).number(batch).number(width).array(lengths, batch).scalar(padding, dnn_element_bytes(data_type)).apply();
}
int32_t cudnnSetRNNDescriptor_v8(uint64_t changed, int32_t algorithm, int32_t cell, int32_t bias, int32_t direction, int32_t input, int32_t data_type, int32_t precision, int32_t math, int32_t input_size, int32_t hidden_size, int32_t projection_size, int32_t layers, uint64_t dropout, uint32_t flags) {
  return DnnChange(ops::ObjectKind::rnn, changed, "cudnnSetRNNDescriptor_v8", 0xbfb46397).number(algorithm).number(cell).number(bias).number(direction).number(input).data_type(data_type).number(precision).number(math).number(input_size).number(hidden_size).number(projection_size).number(layers).descriptor(dropout, ops::ObjectKind::dropout).number(flags).apply();
}
int32_t cudnnSetSpatialTransformerNdDescriptor(uint64_t changed, int32_t sampler, int32_t data_type, int32_t dimensions, const int32_t* sizes) {
  return DnnChange(ops::ObjectKind::transformer, changed, "cudnnSetSpatialTransformerNdDescriptor", 0x515ed219).number(sampler).data_type(data_type).number(dimensions).sizes(sizes, dimensions).apply();
}
int32_t cudnnSetTensorNdDescriptor(uint64_t changed, int32_t data_type, int32_t dimensions, const int32_t* sizes, const int32_t* strides) {
  return DnnChange(ops::ObjectKind::tensor, changed, "cudnnSetTensorNdDescriptor", 0x5e7fae87).data_type(data_type).number(dimensions).sizes(sizes, dimensions).array(strides, dimensions).apply();
}
int32_t cudnnSpatialTfGridGeneratorBackward(uint64_t handle, uint64_t st, uint64_t dgrid, uint64_t dtheta) {
  return DnnCall(handle, "cudnnSpatialTfGridGeneratorBackward", 0x01360eb5).descriptor(st, ops::ObjectKind::transformer).address(dgrid).address(dtheta).run();
}
int32_t cudnnSpatialTfGridGeneratorForward(uint64_t handle, uint64_t st, uint64_t theta, uint64_t grid) {
  return DnnCall(handle, "cudnnSpatialTfGridGeneratorForward", 0x46565f01).descriptor(st, ops::ObjectKind::transformer).address(theta).address(grid).run();
}
int32_t cudnnSpatialTfSamplerBackward(uint64_t handle, uint64_t st, const void* alpha, uint64_t x, uint64_t x_data, const void* beta, uint64_t dx, uint64_t dx_data, const void* alpha_grid, uint64_t dy, uint64_t dy_data, uint64_t grid, const void* beta_grid, uint64_t dgrid) {
  return DnnCall(handle, "cudnnSpatialTfSamplerBackward", 0x66141728).descriptor(st, ops::ObjectKind::transformer).scalar(alpha, scalar_bytes(x)).descriptor(x, ops::ObjectKind::tensor).address(x_data).scalar(beta, scalar_bytes(x)).descriptor(dx, ops::ObjectKind::tensor).address(dx_data).scalar(alpha_grid, scalar_bytes(x)).descriptor(dy, ops::ObjectKind::tensor).address(dy_data).address(grid).scalar(beta_grid, scalar_bytes(x)).address(dgrid).run();
}
int32_t cudnnSpatialTfSamplerForward(uint64_t handle, uint64_t st, const void* alpha, uint64_t x, uint64_t x_data, uint64_t grid, const void* beta, uint64_t y, uint64_t y_data) {
  return DnnCall(handle, "cudnnSpatialTfSamplerForward", 0xbd8a5f36).descriptor(st, ops::ObjectKind::transformer).scalar(alpha, scalar_bytes(x)).descriptor(x, ops::ObjectKind::tensor).address(x_data).address(grid).scalar(beta, scalar_bytes(x)).descriptor(y, ops::ObjectKind::tensor).address(y_data).run();
}

}  // namespace jitc::api
