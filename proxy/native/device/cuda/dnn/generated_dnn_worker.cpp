// Generated from interpose/spec by `python -m jitc.interpose.generator`; do not edit.
// clang-format off
#include "dnn_invoke.h"

namespace jitc::cuda {
namespace {

constexpr DnnRule kcudnnSpatialTfGridGeneratorBackward[] = {object(ops::DnnKind::transformer), address(), address()};
int32_t call_cudnnSpatialTfGridGeneratorBackward(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, void*, void*, void*)>(function)(a.handle(), a.object(0), a.address(1), a.address(2));
}
constexpr DnnRule kcudnnSetPooling2dDescriptor[] = {number(4), number(4), number(4), number(4), number(4), number(4), number(4), number(4)};
int32_t call_cudnnSetPooling2dDescriptor(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t)>(function)(a.self(), a.number<int32_t>(0), a.number<int32_t>(1), a.number<int32_t>(2), a.number<int32_t>(3), a.number<int32_t>(4), a.number<int32_t>(5), a.number<int32_t>(6), a.number<int32_t>(7));
}
constexpr DnnRule kcudnnGetConvolutionBackwardDataWorkspaceSize[] = {object(ops::DnnKind::filter), object(ops::DnnKind::tensor), object(ops::DnnKind::convolution), object(ops::DnnKind::tensor), number(4), result(8)};
int32_t call_cudnnGetConvolutionBackwardDataWorkspaceSize(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, void*, void*, void*, void*, int32_t, void*)>(function)(a.handle(), a.object(0), a.object(1), a.object(2), a.object(3), a.number<int32_t>(4), a.result(5));
}
constexpr DnnRule kcudnnSetConvolutionMathType[] = {number(4)};
int32_t call_cudnnSetConvolutionMathType(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, int32_t)>(function)(a.self(), a.number<int32_t>(0));
}
constexpr DnnRule kcudnnFindConvolutionBackwardFilterAlgorithmEx[] = {object(ops::DnnKind::tensor), address(), object(ops::DnnKind::tensor), address(), object(ops::DnnKind::convolution), object(ops::DnnKind::filter), address(), number(4), result(4), results(7, 48), address(), number(8)};
int32_t call_cudnnFindConvolutionBackwardFilterAlgorithmEx(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, void*, void*, void*, void*, void*, void*, void*, int32_t, void*, void*, void*, size_t)>(function)(a.handle(), a.object(0), a.address(1), a.object(2), a.address(3), a.object(4), a.object(5), a.address(6), a.number<int32_t>(7), a.result(8), a.result(9), a.address(10), a.number<size_t>(11));
}
constexpr DnnRule kcudnnCTCLoss[] = {object(ops::DnnKind::tensor), address(), sum_of(3), size_of(0), size_of(0), address(), object(ops::DnnKind::tensor), address(), number(4), object(ops::DnnKind::ctc_loss), address(), number(8)};
int32_t call_cudnnCTCLoss(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, void*, void*, const int32_t*, const int32_t*, const int32_t*, void*, void*, void*, int32_t, void*, void*, size_t)>(function)(a.handle(), a.object(0), a.address(1), a.array<int32_t>(2), a.array<int32_t>(3), a.array<int32_t>(4), a.address(5), a.object(6), a.address(7), a.number<int32_t>(8), a.object(9), a.address(10), a.number<size_t>(11));
}
constexpr DnnRule kcudnnGetBatchNormalizationBackwardExWorkspaceSize[] = {number(4), number(4), object(ops::DnnKind::tensor), object(ops::DnnKind::tensor), object(ops::DnnKind::tensor), object(ops::DnnKind::tensor), object(ops::DnnKind::tensor), object(ops::DnnKind::tensor), object(ops::DnnKind::activation), result(8)};
int32_t call_cudnnGetBatchNormalizationBackwardExWorkspaceSize(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, int32_t, int32_t, void*, void*, void*, void*, void*, void*, void*, void*)>(function)(a.handle(), a.number<int32_t>(0), a.number<int32_t>(1), a.object(2), a.object(3), a.object(4), a.object(5), a.object(6), a.object(7), a.object(8), a.result(9));
}
constexpr DnnRule kcudnnSetRNNDataDescriptor[] = {number(4), number(4), number(4), number(4), number(4), array(3), scalar()};
int32_t call_cudnnSetRNNDataDescriptor(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, int32_t, int32_t, int32_t, int32_t, int32_t, const int32_t*, const void*)>(function)(a.self(), a.number<int32_t>(0), a.number<int32_t>(1), a.number<int32_t>(2), a.number<int32_t>(3), a.number<int32_t>(4), a.array<int32_t>(5), a.scalar(6));
}
constexpr DnnRule kcudnnSetActivationDescriptor[] = {number(4), number(4), real()};
int32_t call_cudnnSetActivationDescriptor(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, int32_t, int32_t, double)>(function)(a.self(), a.number<int32_t>(0), a.number<int32_t>(1), a.real<double>(2));
}
constexpr DnnRule kcudnnSpatialTfGridGeneratorForward[] = {object(ops::DnnKind::transformer), address(), address()};
int32_t call_cudnnSpatialTfGridGeneratorForward(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, void*, void*, void*)>(function)(a.handle(), a.object(0), a.address(1), a.address(2));
}
constexpr DnnRule kcudnnConvolutionBackwardData[] = {scalar(), object(ops::DnnKind::filter), address(), object(ops::DnnKind::tensor), address(), object(ops::DnnKind::convolution), number(4), address(), number(8), scalar(), object(ops::DnnKind::tensor), address()};
int32_t call_cudnnConvolutionBackwardData(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, const void*, void*, void*, void*, void*, void*, int32_t, void*, size_t, const void*, void*, void*)>(function)(a.handle(), a.scalar(0), a.object(1), a.address(2), a.object(3), a.address(4), a.object(5), a.number<int32_t>(6), a.address(7), a.number<size_t>(8), a.scalar(9), a.object(10), a.address(11));
}
constexpr DnnRule kcudnnFindConvolutionBackwardDataAlgorithmEx[] = {object(ops::DnnKind::filter), address(), object(ops::DnnKind::tensor), address(), object(ops::DnnKind::convolution), object(ops::DnnKind::tensor), address(), number(4), result(4), results(7, 48), address(), number(8)};
int32_t call_cudnnFindConvolutionBackwardDataAlgorithmEx(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, void*, void*, void*, void*, void*, void*, void*, int32_t, void*, void*, void*, size_t)>(function)(a.handle(), a.object(0), a.address(1), a.object(2), a.address(3), a.object(4), a.object(5), a.address(6), a.number<int32_t>(7), a.result(8), a.result(9), a.address(10), a.number<size_t>(11));
}
constexpr DnnRule kcudnnSetSpatialTransformerNdDescriptor[] = {number(4), number(4), number(4), array(2)};
int32_t call_cudnnSetSpatialTransformerNdDescriptor(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, int32_t, int32_t, int32_t, const int32_t*)>(function)(a.self(), a.number<int32_t>(0), a.number<int32_t>(1), a.number<int32_t>(2), a.array<int32_t>(3));
}
constexpr DnnRule kcudnnFindConvolutionForwardAlgorithmEx[] = {object(ops::DnnKind::tensor), address(), object(ops::DnnKind::filter), address(), object(ops::DnnKind::convolution), object(ops::DnnKind::tensor), address(), number(4), result(4), results(7, 48), address(), number(8)};
int32_t call_cudnnFindConvolutionForwardAlgorithmEx(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, void*, void*, void*, void*, void*, void*, void*, int32_t, void*, void*, void*, size_t)>(function)(a.handle(), a.object(0), a.address(1), a.object(2), a.address(3), a.object(4), a.object(5), a.address(6), a.number<int32_t>(7), a.result(8), a.result(9), a.address(10), a.number<size_t>(11));
}
constexpr DnnRule kcudnnGetCTCLossWorkspaceSize[] = {object(ops::DnnKind::tensor), object(ops::DnnKind::tensor), sum_of(3), size_of(0), size_of(0), number(4), object(ops::DnnKind::ctc_loss), result(8)};
int32_t call_cudnnGetCTCLossWorkspaceSize(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, void*, void*, const int32_t*, const int32_t*, const int32_t*, int32_t, void*, void*)>(function)(a.handle(), a.object(0), a.object(1), a.array<int32_t>(2), a.array<int32_t>(3), a.array<int32_t>(4), a.number<int32_t>(5), a.object(6), a.result(7));
}
constexpr DnnRule kcudnnConvolutionForward[] = {scalar(), object(ops::DnnKind::tensor), address(), object(ops::DnnKind::filter), address(), object(ops::DnnKind::convolution), number(4), address(), number(8), scalar(), object(ops::DnnKind::tensor), address()};
int32_t call_cudnnConvolutionForward(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, const void*, void*, void*, void*, void*, void*, int32_t, void*, size_t, const void*, void*, void*)>(function)(a.handle(), a.scalar(0), a.object(1), a.address(2), a.object(3), a.address(4), a.object(5), a.number<int32_t>(6), a.address(7), a.number<size_t>(8), a.scalar(9), a.object(10), a.address(11));
}
constexpr DnnRule kcudnnConvolutionBackwardFilter[] = {scalar(), object(ops::DnnKind::tensor), address(), object(ops::DnnKind::tensor), address(), object(ops::DnnKind::convolution), number(4), address(), number(8), scalar(), object(ops::DnnKind::filter), address()};
int32_t call_cudnnConvolutionBackwardFilter(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, const void*, void*, void*, void*, void*, void*, int32_t, void*, size_t, const void*, void*, void*)>(function)(a.handle(), a.scalar(0), a.object(1), a.address(2), a.object(3), a.address(4), a.object(5), a.number<int32_t>(6), a.address(7), a.number<size_t>(8), a.scalar(9), a.object(10), a.address(11));
}
constexpr DnnRule kcudnnSetTensorNdDescriptor[] = {number(4), number(4), array(1), array(1)};
int32_t call_cudnnSetTensorNdDescriptor(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, int32_t, int32_t, const int32_t*, const int32_t*)>(function)(a.self(), a.number<int32_t>(0), a.number<int32_t>(1), a.array<int32_t>(2), a.array<int32_t>(3));
}
constexpr DnnRule kcudnnSpatialTfSamplerBackward[] = {object(ops::DnnKind::transformer), scalar(), object(ops::DnnKind::tensor), address(), scalar(), object(ops::DnnKind::tensor), address(), scalar(), object(ops::DnnKind::tensor), address(), address(), scalar(), address()};
int32_t call_cudnnSpatialTfSamplerBackward(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, void*, const void*, void*, void*, const void*, void*, void*, const void*, void*, void*, void*, const void*, void*)>(function)(a.handle(), a.object(0), a.scalar(1), a.object(2), a.address(3), a.scalar(4), a.object(5), a.address(6), a.scalar(7), a.object(8), a.address(9), a.address(10), a.scalar(11), a.address(12));
}
constexpr DnnRule kcudnnSetFilterNdDescriptor[] = {number(4), number(4), number(4), array(2)};
int32_t call_cudnnSetFilterNdDescriptor(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, int32_t, int32_t, int32_t, const int32_t*)>(function)(a.self(), a.number<int32_t>(0), a.number<int32_t>(1), a.number<int32_t>(2), a.array<int32_t>(3));
}
constexpr DnnRule kcudnnGetConvolutionForwardWorkspaceSize[] = {object(ops::DnnKind::tensor), object(ops::DnnKind::filter), object(ops::DnnKind::convolution), object(ops::DnnKind::tensor), number(4), result(8)};
int32_t call_cudnnGetConvolutionForwardWorkspaceSize(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, void*, void*, void*, void*, int32_t, void*)>(function)(a.handle(), a.object(0), a.object(1), a.object(2), a.object(3), a.number<int32_t>(4), a.result(5));
}
constexpr DnnRule kcudnnRNNBackwardData_v8[] = {object(ops::DnnKind::rnn), address(), object(ops::DnnKind::rnn_data), address(), address(), object(ops::DnnKind::rnn_data), address(), object(ops::DnnKind::tensor), address(), address(), address(), object(ops::DnnKind::tensor), address(), address(), address(), number(8), address(), number(8), address(), number(8), address()};
int32_t call_cudnnRNNBackwardData_v8(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, size_t, void*, size_t, void*, size_t, void*)>(function)(a.handle(), a.object(0), a.address(1), a.object(2), a.address(3), a.address(4), a.object(5), a.address(6), a.object(7), a.address(8), a.address(9), a.address(10), a.object(11), a.address(12), a.address(13), a.address(14), a.number<size_t>(15), a.address(16), a.number<size_t>(17), a.address(18), a.number<size_t>(19), a.address(20));
}
constexpr DnnRule kcudnnRNNBackwardWeights_v8[] = {object(ops::DnnKind::rnn), number(4), address(), object(ops::DnnKind::rnn_data), address(), object(ops::DnnKind::tensor), address(), object(ops::DnnKind::rnn_data), address(), number(8), address(), number(8), address(), number(8), address()};
int32_t call_cudnnRNNBackwardWeights_v8(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, void*, int32_t, void*, void*, void*, void*, void*, void*, void*, size_t, void*, size_t, void*, size_t, void*)>(function)(a.handle(), a.object(0), a.number<int32_t>(1), a.address(2), a.object(3), a.address(4), a.object(5), a.address(6), a.object(7), a.address(8), a.number<size_t>(9), a.address(10), a.number<size_t>(11), a.address(12), a.number<size_t>(13), a.address(14));
}
constexpr DnnRule kcudnnRestoreDropoutDescriptor[] = {real(), address(), number(8), number(8)};
int32_t call_cudnnRestoreDropoutDescriptor(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, void*, float, void*, size_t, uint64_t)>(function)(a.self(), a.handle(), a.real<float>(0), a.address(1), a.number<size_t>(2), a.number<uint64_t>(3));
}
constexpr DnnRule kcudnnSetCTCLossDescriptorEx[] = {number(4), number(4), number(4)};
int32_t call_cudnnSetCTCLossDescriptorEx(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, int32_t, int32_t, int32_t)>(function)(a.self(), a.number<int32_t>(0), a.number<int32_t>(1), a.number<int32_t>(2));
}
constexpr DnnRule kcudnnPoolingForward[] = {object(ops::DnnKind::pooling), scalar(), object(ops::DnnKind::tensor), address(), scalar(), object(ops::DnnKind::tensor), address()};
int32_t call_cudnnPoolingForward(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, void*, const void*, void*, void*, const void*, void*, void*)>(function)(a.handle(), a.object(0), a.scalar(1), a.object(2), a.address(3), a.scalar(4), a.object(5), a.address(6));
}
constexpr DnnRule kcudnnBatchNormalizationForwardTrainingEx[] = {number(4), number(4), scalar(), scalar(), object(ops::DnnKind::tensor), address(), object(ops::DnnKind::tensor), address(), object(ops::DnnKind::tensor), address(), object(ops::DnnKind::tensor), address(), address(), real(), address(), address(), real(), address(), address(), object(ops::DnnKind::activation), address(), number(8), address(), number(8)};
int32_t call_cudnnBatchNormalizationForwardTrainingEx(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, int32_t, int32_t, const void*, const void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, double, void*, void*, double, void*, void*, void*, void*, size_t, void*, size_t)>(function)(a.handle(), a.number<int32_t>(0), a.number<int32_t>(1), a.scalar(2), a.scalar(3), a.object(4), a.address(5), a.object(6), a.address(7), a.object(8), a.address(9), a.object(10), a.address(11), a.address(12), a.real<double>(13), a.address(14), a.address(15), a.real<double>(16), a.address(17), a.address(18), a.object(19), a.address(20), a.number<size_t>(21), a.address(22), a.number<size_t>(23));
}
constexpr DnnRule kcudnnDropoutGetStatesSize[] = {result(8)};
int32_t call_cudnnDropoutGetStatesSize(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, void*)>(function)(a.handle(), a.result(0));
}
constexpr DnnRule kcudnnBatchNormalizationForwardInference[] = {number(4), scalar(), scalar(), object(ops::DnnKind::tensor), address(), object(ops::DnnKind::tensor), address(), object(ops::DnnKind::tensor), address(), address(), address(), address(), real()};
int32_t call_cudnnBatchNormalizationForwardInference(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, int32_t, const void*, const void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, double)>(function)(a.handle(), a.number<int32_t>(0), a.scalar(1), a.scalar(2), a.object(3), a.address(4), a.object(5), a.address(6), a.object(7), a.address(8), a.address(9), a.address(10), a.address(11), a.real<double>(12));
}
constexpr DnnRule kcudnnRNNForward[] = {object(ops::DnnKind::rnn), number(4), address(), object(ops::DnnKind::rnn_data), address(), object(ops::DnnKind::rnn_data), address(), object(ops::DnnKind::tensor), address(), address(), object(ops::DnnKind::tensor), address(), address(), number(8), address(), number(8), address(), number(8), address()};
int32_t call_cudnnRNNForward(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, void*, int32_t, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, size_t, void*, size_t, void*, size_t, void*)>(function)(a.handle(), a.object(0), a.number<int32_t>(1), a.address(2), a.object(3), a.address(4), a.object(5), a.address(6), a.object(7), a.address(8), a.address(9), a.object(10), a.address(11), a.address(12), a.number<size_t>(13), a.address(14), a.number<size_t>(15), a.address(16), a.number<size_t>(17), a.address(18));
}
constexpr DnnRule kcudnnGetBatchNormalizationForwardTrainingExWorkspaceSize[] = {number(4), number(4), object(ops::DnnKind::tensor), object(ops::DnnKind::tensor), object(ops::DnnKind::tensor), object(ops::DnnKind::tensor), object(ops::DnnKind::activation), result(8)};
int32_t call_cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, int32_t, int32_t, void*, void*, void*, void*, void*, void*)>(function)(a.handle(), a.number<int32_t>(0), a.number<int32_t>(1), a.object(2), a.object(3), a.object(4), a.object(5), a.object(6), a.result(7));
}
constexpr DnnRule kcudnnSetConvolutionNdDescriptor[] = {number(4), array(0), array(0), array(0), number(4), number(4)};
int32_t call_cudnnSetConvolutionNdDescriptor(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, int32_t, const int32_t*, const int32_t*, const int32_t*, int32_t, int32_t)>(function)(a.self(), a.number<int32_t>(0), a.array<int32_t>(1), a.array<int32_t>(2), a.array<int32_t>(3), a.number<int32_t>(4), a.number<int32_t>(5));
}
constexpr DnnRule kcudnnConvolutionBiasActivationForward[] = {scalar(), object(ops::DnnKind::tensor), address(), object(ops::DnnKind::filter), address(), object(ops::DnnKind::convolution), number(4), address(), number(8), scalar(), object(ops::DnnKind::tensor), address(), object(ops::DnnKind::tensor), address(), object(ops::DnnKind::activation), object(ops::DnnKind::tensor), address()};
int32_t call_cudnnConvolutionBiasActivationForward(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, const void*, void*, void*, void*, void*, void*, int32_t, void*, size_t, const void*, void*, void*, void*, void*, void*, void*, void*)>(function)(a.handle(), a.scalar(0), a.object(1), a.address(2), a.object(3), a.address(4), a.object(5), a.number<int32_t>(6), a.address(7), a.number<size_t>(8), a.scalar(9), a.object(10), a.address(11), a.object(12), a.address(13), a.object(14), a.object(15), a.address(16));
}
constexpr DnnRule kcudnnSpatialTfSamplerForward[] = {object(ops::DnnKind::transformer), scalar(), object(ops::DnnKind::tensor), address(), address(), scalar(), object(ops::DnnKind::tensor), address()};
int32_t call_cudnnSpatialTfSamplerForward(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, void*, const void*, void*, void*, void*, const void*, void*, void*)>(function)(a.handle(), a.object(0), a.scalar(1), a.object(2), a.address(3), a.address(4), a.scalar(5), a.object(6), a.address(7));
}
constexpr DnnRule kcudnnGetConvolutionForwardAlgorithm_v7[] = {object(ops::DnnKind::tensor), object(ops::DnnKind::filter), object(ops::DnnKind::convolution), object(ops::DnnKind::tensor), number(4), result(4), results(4, 48)};
int32_t call_cudnnGetConvolutionForwardAlgorithm_v7(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, void*, void*, void*, void*, int32_t, void*, void*)>(function)(a.handle(), a.object(0), a.object(1), a.object(2), a.object(3), a.number<int32_t>(4), a.result(5), a.result(6));
}
constexpr DnnRule kcudnnSetRNNDescriptor_v8[] = {number(4), number(4), number(4), number(4), number(4), number(4), number(4), number(4), number(4), number(4), number(4), number(4), object(ops::DnnKind::dropout), number(4)};
int32_t call_cudnnSetRNNDescriptor_v8(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, void*, uint32_t)>(function)(a.self(), a.number<int32_t>(0), a.number<int32_t>(1), a.number<int32_t>(2), a.number<int32_t>(3), a.number<int32_t>(4), a.number<int32_t>(5), a.number<int32_t>(6), a.number<int32_t>(7), a.number<int32_t>(8), a.number<int32_t>(9), a.number<int32_t>(10), a.number<int32_t>(11), a.object(12), a.number<uint32_t>(13));
}
constexpr DnnRule kcudnnGetCTCLossWorkspaceSize_v8[] = {number(4), object(ops::DnnKind::ctc_loss), object(ops::DnnKind::tensor), object(ops::DnnKind::tensor), result(8)};
int32_t call_cudnnGetCTCLossWorkspaceSize_v8(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, int32_t, void*, void*, void*, void*)>(function)(a.handle(), a.number<int32_t>(0), a.object(1), a.object(2), a.object(3), a.result(4));
}
constexpr DnnRule kcudnnGetBatchNormalizationTrainingExReserveSpaceSize[] = {number(4), number(4), object(ops::DnnKind::activation), object(ops::DnnKind::tensor), result(8)};
int32_t call_cudnnGetBatchNormalizationTrainingExReserveSpaceSize(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, int32_t, int32_t, void*, void*, void*)>(function)(a.handle(), a.number<int32_t>(0), a.number<int32_t>(1), a.object(2), a.object(3), a.result(4));
}
constexpr DnnRule kcudnnGetConvolutionBackwardFilterAlgorithm_v7[] = {object(ops::DnnKind::tensor), object(ops::DnnKind::tensor), object(ops::DnnKind::convolution), object(ops::DnnKind::filter), number(4), result(4), results(4, 48)};
int32_t call_cudnnGetConvolutionBackwardFilterAlgorithm_v7(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, void*, void*, void*, void*, int32_t, void*, void*)>(function)(a.handle(), a.object(0), a.object(1), a.object(2), a.object(3), a.number<int32_t>(4), a.result(5), a.result(6));
}
constexpr DnnRule kcudnnGetRNNTempSpaceSizes[] = {object(ops::DnnKind::rnn), number(4), object(ops::DnnKind::rnn_data), result(8), result(8)};
int32_t call_cudnnGetRNNTempSpaceSizes(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, void*, int32_t, void*, void*, void*)>(function)(a.handle(), a.object(0), a.number<int32_t>(1), a.object(2), a.result(3), a.result(4));
}
constexpr DnnRule kcudnnSetCTCLossDescriptor_v9[] = {number(4), number(4), number(4), number(4)};
int32_t call_cudnnSetCTCLossDescriptor_v9(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, int32_t, int32_t, int32_t, int32_t)>(function)(a.self(), a.number<int32_t>(0), a.number<int32_t>(1), a.number<int32_t>(2), a.number<int32_t>(3));
}
constexpr DnnRule kcudnnCTCLoss_v8[] = {number(4), object(ops::DnnKind::ctc_loss), object(ops::DnnKind::tensor), address(), address(), address(), address(), address(), object(ops::DnnKind::tensor), address(), number(8), address()};
int32_t call_cudnnCTCLoss_v8(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, int32_t, void*, void*, void*, void*, void*, void*, void*, void*, void*, size_t, void*)>(function)(a.handle(), a.number<int32_t>(0), a.object(1), a.object(2), a.address(3), a.address(4), a.address(5), a.address(6), a.address(7), a.object(8), a.address(9), a.number<size_t>(10), a.address(11));
}
constexpr DnnRule kcudnnGetRNNWeightSpaceSize[] = {object(ops::DnnKind::rnn), result(8)};
int32_t call_cudnnGetRNNWeightSpaceSize(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, void*, void*)>(function)(a.handle(), a.object(0), a.result(1));
}
constexpr DnnRule kcudnnBatchNormalizationBackwardEx[] = {number(4), number(4), scalar(), scalar(), scalar(), scalar(), object(ops::DnnKind::tensor), address(), object(ops::DnnKind::tensor), address(), object(ops::DnnKind::tensor), address(), object(ops::DnnKind::tensor), address(), object(ops::DnnKind::tensor), address(), object(ops::DnnKind::tensor), address(), address(), address(), address(), real(), address(), address(), object(ops::DnnKind::activation), address(), number(8), address(), number(8)};
int32_t call_cudnnBatchNormalizationBackwardEx(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, int32_t, int32_t, const void*, const void*, const void*, const void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, double, void*, void*, void*, void*, size_t, void*, size_t)>(function)(a.handle(), a.number<int32_t>(0), a.number<int32_t>(1), a.scalar(2), a.scalar(3), a.scalar(4), a.scalar(5), a.object(6), a.address(7), a.object(8), a.address(9), a.object(10), a.address(11), a.object(12), a.address(13), a.object(14), a.address(15), a.object(16), a.address(17), a.address(18), a.address(19), a.address(20), a.real<double>(21), a.address(22), a.address(23), a.object(24), a.address(25), a.number<size_t>(26), a.address(27), a.number<size_t>(28));
}
constexpr DnnRule kcudnnGetConvolutionBackwardFilterWorkspaceSize[] = {object(ops::DnnKind::tensor), object(ops::DnnKind::tensor), object(ops::DnnKind::convolution), object(ops::DnnKind::filter), number(4), result(8)};
int32_t call_cudnnGetConvolutionBackwardFilterWorkspaceSize(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, void*, void*, void*, void*, int32_t, void*)>(function)(a.handle(), a.object(0), a.object(1), a.object(2), a.object(3), a.number<int32_t>(4), a.result(5));
}
constexpr DnnRule kcudnnGetConvolutionBackwardDataAlgorithm_v7[] = {object(ops::DnnKind::filter), object(ops::DnnKind::tensor), object(ops::DnnKind::convolution), object(ops::DnnKind::tensor), number(4), result(4), results(4, 48)};
int32_t call_cudnnGetConvolutionBackwardDataAlgorithm_v7(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, void*, void*, void*, void*, int32_t, void*, void*)>(function)(a.handle(), a.object(0), a.object(1), a.object(2), a.object(3), a.number<int32_t>(4), a.result(5), a.result(6));
}
constexpr DnnRule kcudnnSetConvolutionGroupCount[] = {number(4)};
int32_t call_cudnnSetConvolutionGroupCount(void* function, const DnnArguments& a) {
  return reinterpret_cast<int32_t (*)(void*, int32_t)>(function)(a.self(), a.number<int32_t>(0));
}

}  // namespace

// by identifier
const DnnFunction kDnnFunctions[] = {
    {0x01360eb5, "cudnnSpatialTfGridGeneratorBackward", kNothing, kcudnnSpatialTfGridGeneratorBackward, &call_cudnnSpatialTfGridGeneratorBackward},
    {0x01881e8e, "cudnnSetPooling2dDescriptor", ops::DnnKind::pooling, kcudnnSetPooling2dDescriptor, &call_cudnnSetPooling2dDescriptor},
    {0x0314c6e8, "cudnnGetConvolutionBackwardDataWorkspaceSize", kNothing, kcudnnGetConvolutionBackwardDataWorkspaceSize, &call_cudnnGetConvolutionBackwardDataWorkspaceSize},
    {0x0c5a6b6b, "cudnnSetConvolutionMathType", ops::DnnKind::convolution, kcudnnSetConvolutionMathType, &call_cudnnSetConvolutionMathType},
    {0x0f09777b, "cudnnFindConvolutionBackwardFilterAlgorithmEx", kNothing, kcudnnFindConvolutionBackwardFilterAlgorithmEx, &call_cudnnFindConvolutionBackwardFilterAlgorithmEx},
    {0x153e9a9a, "cudnnCTCLoss", kNothing, kcudnnCTCLoss, &call_cudnnCTCLoss},
    {0x163a1d3c, "cudnnGetBatchNormalizationBackwardExWorkspaceSize", kNothing, kcudnnGetBatchNormalizationBackwardExWorkspaceSize, &call_cudnnGetBatchNormalizationBackwardExWorkspaceSize},
    {0x1feba534, "cudnnSetRNNDataDescriptor", ops::DnnKind::rnn_data, kcudnnSetRNNDataDescriptor, &call_cudnnSetRNNDataDescriptor},
    {0x24cd0434, "cudnnSetActivationDescriptor", ops::DnnKind::activation, kcudnnSetActivationDescriptor, &call_cudnnSetActivationDescriptor},
    {0x46565f01, "cudnnSpatialTfGridGeneratorForward", kNothing, kcudnnSpatialTfGridGeneratorForward, &call_cudnnSpatialTfGridGeneratorForward},
    {0x4660a4f6, "cudnnConvolutionBackwardData", kNothing, kcudnnConvolutionBackwardData, &call_cudnnConvolutionBackwardData},
    {0x49948d51, "cudnnFindConvolutionBackwardDataAlgorithmEx", kNothing, kcudnnFindConvolutionBackwardDataAlgorithmEx, &call_cudnnFindConvolutionBackwardDataAlgorithmEx},
    {0x515ed219, "cudnnSetSpatialTransformerNdDescriptor", ops::DnnKind::transformer, kcudnnSetSpatialTransformerNdDescriptor, &call_cudnnSetSpatialTransformerNdDescriptor},
    {0x5796f669, "cudnnFindConvolutionForwardAlgorithmEx", kNothing, kcudnnFindConvolutionForwardAlgorithmEx, &call_cudnnFindConvolutionForwardAlgorithmEx},
    {0x598dbc60, "cudnnGetCTCLossWorkspaceSize", kNothing, kcudnnGetCTCLossWorkspaceSize, &call_cudnnGetCTCLossWorkspaceSize},
    {0x5c8a6c48, "cudnnConvolutionForward", kNothing, kcudnnConvolutionForward, &call_cudnnConvolutionForward},
    {0x5e3dc2d0, "cudnnConvolutionBackwardFilter", kNothing, kcudnnConvolutionBackwardFilter, &call_cudnnConvolutionBackwardFilter},
    {0x5e7fae87, "cudnnSetTensorNdDescriptor", ops::DnnKind::tensor, kcudnnSetTensorNdDescriptor, &call_cudnnSetTensorNdDescriptor},
    {0x66141728, "cudnnSpatialTfSamplerBackward", kNothing, kcudnnSpatialTfSamplerBackward, &call_cudnnSpatialTfSamplerBackward},
    {0x68c7adec, "cudnnSetFilterNdDescriptor", ops::DnnKind::filter, kcudnnSetFilterNdDescriptor, &call_cudnnSetFilterNdDescriptor},
    {0x6ca8e83a, "cudnnGetConvolutionForwardWorkspaceSize", kNothing, kcudnnGetConvolutionForwardWorkspaceSize, &call_cudnnGetConvolutionForwardWorkspaceSize},
    {0x6d52469d, "cudnnRNNBackwardData_v8", kNothing, kcudnnRNNBackwardData_v8, &call_cudnnRNNBackwardData_v8},
    {0x6f252126, "cudnnRNNBackwardWeights_v8", kNothing, kcudnnRNNBackwardWeights_v8, &call_cudnnRNNBackwardWeights_v8},
    {0x79fa2afb, "cudnnRestoreDropoutDescriptor", ops::DnnKind::dropout, kcudnnRestoreDropoutDescriptor, &call_cudnnRestoreDropoutDescriptor},
    {0x7ada1b64, "cudnnSetCTCLossDescriptorEx", ops::DnnKind::ctc_loss, kcudnnSetCTCLossDescriptorEx, &call_cudnnSetCTCLossDescriptorEx},
    {0x7ed7eee4, "cudnnPoolingForward", kNothing, kcudnnPoolingForward, &call_cudnnPoolingForward},
    {0x9378c44c, "cudnnBatchNormalizationForwardTrainingEx", kNothing, kcudnnBatchNormalizationForwardTrainingEx, &call_cudnnBatchNormalizationForwardTrainingEx},
    {0x9784de15, "cudnnDropoutGetStatesSize", kNothing, kcudnnDropoutGetStatesSize, &call_cudnnDropoutGetStatesSize},
    {0x9859e6fe, "cudnnBatchNormalizationForwardInference", kNothing, kcudnnBatchNormalizationForwardInference, &call_cudnnBatchNormalizationForwardInference},
    {0xaca80558, "cudnnRNNForward", kNothing, kcudnnRNNForward, &call_cudnnRNNForward},
    {0xb1c9f426, "cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize", kNothing, kcudnnGetBatchNormalizationForwardTrainingExWorkspaceSize, &call_cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize},
    {0xb8cbd102, "cudnnSetConvolutionNdDescriptor", ops::DnnKind::convolution, kcudnnSetConvolutionNdDescriptor, &call_cudnnSetConvolutionNdDescriptor},
    {0xbbe9b7f7, "cudnnConvolutionBiasActivationForward", kNothing, kcudnnConvolutionBiasActivationForward, &call_cudnnConvolutionBiasActivationForward},
    {0xbd8a5f36, "cudnnSpatialTfSamplerForward", kNothing, kcudnnSpatialTfSamplerForward, &call_cudnnSpatialTfSamplerForward},
    {0xbe6b1d77, "cudnnGetConvolutionForwardAlgorithm_v7", kNothing, kcudnnGetConvolutionForwardAlgorithm_v7, &call_cudnnGetConvolutionForwardAlgorithm_v7},
    {0xbfb46397, "cudnnSetRNNDescriptor_v8", ops::DnnKind::rnn, kcudnnSetRNNDescriptor_v8, &call_cudnnSetRNNDescriptor_v8},
    {0xc6328a7b, "cudnnGetCTCLossWorkspaceSize_v8", kNothing, kcudnnGetCTCLossWorkspaceSize_v8, &call_cudnnGetCTCLossWorkspaceSize_v8},
    {0xca72a4f8, "cudnnGetBatchNormalizationTrainingExReserveSpaceSize", kNothing, kcudnnGetBatchNormalizationTrainingExReserveSpaceSize, &call_cudnnGetBatchNormalizationTrainingExReserveSpaceSize},
    {0xd19a4443, "cudnnGetConvolutionBackwardFilterAlgorithm_v7", kNothing, kcudnnGetConvolutionBackwardFilterAlgorithm_v7, &call_cudnnGetConvolutionBackwardFilterAlgorithm_v7},
    {0xd3add0cb, "cudnnGetRNNTempSpaceSizes", kNothing, kcudnnGetRNNTempSpaceSizes, &call_cudnnGetRNNTempSpaceSizes},
    {0xe7154d8f, "cudnnSetCTCLossDescriptor_v9", ops::DnnKind::ctc_loss, kcudnnSetCTCLossDescriptor_v9, &call_cudnnSetCTCLossDescriptor_v9},
    {0xe744b809, "cudnnCTCLoss_v8", kNothing, kcudnnCTCLoss_v8, &call_cudnnCTCLoss_v8},
    {0xe90847c0, "cudnnGetRNNWeightSpaceSize", kNothing, kcudnnGetRNNWeightSpaceSize, &call_cudnnGetRNNWeightSpaceSize},
    {0xf06a5e32, "cudnnBatchNormalizationBackwardEx", kNothing, kcudnnBatchNormalizationBackwardEx, &call_cudnnBatchNormalizationBackwardEx},
    {0xf0ea05ae, "cudnnGetConvolutionBackwardFilterWorkspaceSize", kNothing, kcudnnGetConvolutionBackwardFilterWorkspaceSize, &call_cudnnGetConvolutionBackwardFilterWorkspaceSize},
    {0xf8525cf1, "cudnnGetConvolutionBackwardDataAlgorithm_v7", kNothing, kcudnnGetConvolutionBackwardDataAlgorithm_v7, &call_cudnnGetConvolutionBackwardDataAlgorithm_v7},
    {0xf9b5795f, "cudnnSetConvolutionGroupCount", ops::DnnKind::convolution, kcudnnSetConvolutionGroupCount, &call_cudnnSetConvolutionGroupCount},
};
const uint32_t kDnnFunctionCount = 47;

}  // namespace jitc::cuda
