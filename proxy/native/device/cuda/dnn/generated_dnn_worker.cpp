// Generated from interpose/spec by `python -m jitc.interpose.generator`; do not edit.
// clang-format off
#include "dnn_library.h"

#include "device/cuda/call/signature.h"

namespace jitc::cuda {

// by identifier
const CallFunction kDnnFunctions[] = {
    {0x01360eb5, "cudnnSpatialTfGridGeneratorBackward", kNothing, signature<Object<ops::ObjectKind::transformer>, Address, Address>()},
    {0x01881e8e, "cudnnSetPooling2dDescriptor", ops::ObjectKind::pooling, signature<Number<int32_t>, Number<int32_t>, Number<int32_t>, Number<int32_t>, Number<int32_t>, Number<int32_t>, Number<int32_t>, Number<int32_t>>()},
    {0x0314c6e8, "cudnnGetConvolutionBackwardDataWorkspaceSize", kNothing, signature<Object<ops::ObjectKind::filter>, Object<ops::ObjectKind::tensor>, Object<ops::ObjectKind::convolution>, Object<ops::ObjectKind::tensor>, Number<int32_t>, Result<8>>()},
    {0x0c5a6b6b, "cudnnSetConvolutionMathType", ops::ObjectKind::convolution, signature<Number<int32_t>>()},
    {0x0f09777b, "cudnnFindConvolutionBackwardFilterAlgorithmEx", kNothing, signature<Object<ops::ObjectKind::tensor>, Address, Object<ops::ObjectKind::tensor>, Address, Object<ops::ObjectKind::convolution>, Object<ops::ObjectKind::filter>, Address, Number<int32_t>, Result<4>, Results<7, 48>, Address, Number<size_t>>()},
    {0x153e9a9a, "cudnnCTCLoss", kNothing, signature<Object<ops::ObjectKind::tensor>, Address, SumOf<3>, SizeOf<0>, SizeOf<0>, Address, Object<ops::ObjectKind::tensor>, Address, Number<int32_t>, Object<ops::ObjectKind::ctc_loss>, Address, Number<size_t>>()},
    {0x163a1d3c, "cudnnGetBatchNormalizationBackwardExWorkspaceSize", kNothing, signature<Number<int32_t>, Number<int32_t>, Object<ops::ObjectKind::tensor>, Object<ops::ObjectKind::tensor>, Object<ops::ObjectKind::tensor>, Object<ops::ObjectKind::tensor>, Object<ops::ObjectKind::tensor>, Object<ops::ObjectKind::tensor>, Object<ops::ObjectKind::activation>, Result<8>>()},
    {0x1feba534, "cudnnSetRNNDataDescriptor", ops::ObjectKind::rnn_data, signature<Number<int32_t>, Number<int32_t>, Number<int32_t>, Number<int32_t>, Number<int32_t>, Array<3>, Value>()},
    {0x24cd0434, "cudnnSetActivationDescriptor", ops::ObjectKind::activation, signature<Number<int32_t>, Number<int32_t>, Real<double>>()},
    {0x46565f01, "cudnnSpatialTfGridGeneratorForward", kNothing, signature<Object<ops::ObjectKind::transformer>, Address, Address>()},
    {0x4660a4f6, "cudnnConvolutionBackwardData", kNothing, signature<Value, Object<ops::ObjectKind::filter>, Address, Object<ops::ObjectKind::tensor>, Address, Object<ops::ObjectKind::convolution>, Number<int32_t>, Address, Number<size_t>, Value, Object<ops::ObjectKind::tensor>, Address>()},
    {0x49948d51, "cudnnFindConvolutionBackwardDataAlgorithmEx", kNothing, signature<Object<ops::ObjectKind::filter>, Address, Object<ops::ObjectKind::tensor>, Address, Object<ops::ObjectKind::convolution>, Object<ops::ObjectKind::tensor>, Address, Number<int32_t>, Result<4>, Results<7, 48>, Address, Number<size_t>>()},
    {0x515ed219, "cudnnSetSpatialTransformerNdDescriptor", ops::ObjectKind::transformer, signature<Number<int32_t>, Number<int32_t>, Number<int32_t>, Array<2>>()},
    {0x5796f669, "cudnnFindConvolutionForwardAlgorithmEx", kNothing, signature<Object<ops::ObjectKind::tensor>, Address, Object<ops::ObjectKind::filter>, Address, Object<ops::ObjectKind::convolution>, Object<ops::ObjectKind::tensor>, Address, Number<int32_t>, Result<4>, Results<7, 48>, Address, Number<size_t>>()},
    {0x598dbc60, "cudnnGetCTCLossWorkspaceSize", kNothing, signature<Object<ops::ObjectKind::tensor>, Object<ops::ObjectKind::tensor>, SumOf<3>, SizeOf<0>, SizeOf<0>, Number<int32_t>, Object<ops::ObjectKind::ctc_loss>, Result<8>>()},
    {0x5c8a6c48, "cudnnConvolutionForward", kNothing, signature<Value, Object<ops::ObjectKind::tensor>, Address, Object<ops::ObjectKind::filter>, Address, Object<ops::ObjectKind::convolution>, Number<int32_t>, Address, Number<size_t>, Value, Object<ops::ObjectKind::tensor>, Address>()},
    {0x5e3dc2d0, "cudnnConvolutionBackwardFilter", kNothing, signature<Value, Object<ops::ObjectKind::tensor>, Address, Object<ops::ObjectKind::tensor>, Address, Object<ops::ObjectKind::convolution>, Number<int32_t>, Address, Number<size_t>, Value, Object<ops::ObjectKind::filter>, Address>()},
    {0x5e7fae87, "cudnnSetTensorNdDescriptor", ops::ObjectKind::tensor, signature<Number<int32_t>, Number<int32_t>, Array<1>, Array<1>>()},
    {0x66141728, "cudnnSpatialTfSamplerBackward", kNothing, signature<Object<ops::ObjectKind::transformer>, Value, Object<ops::ObjectKind::tensor>, Address, Value, Object<ops::ObjectKind::tensor>, Address, Value, Object<ops::ObjectKind::tensor>, Address, Address, Value, Address>()},
    {0x68c7adec, "cudnnSetFilterNdDescriptor", ops::ObjectKind::filter, signature<Number<int32_t>, Number<int32_t>, Number<int32_t>, Array<2>>()},
    {0x6ca8e83a, "cudnnGetConvolutionForwardWorkspaceSize", kNothing, signature<Object<ops::ObjectKind::tensor>, Object<ops::ObjectKind::filter>, Object<ops::ObjectKind::convolution>, Object<ops::ObjectKind::tensor>, Number<int32_t>, Result<8>>()},
    {0x6d52469d, "cudnnRNNBackwardData_v8", kNothing, signature<Object<ops::ObjectKind::rnn>, Address, Object<ops::ObjectKind::rnn_data>, Address, Address, Object<ops::ObjectKind::rnn_data>, Address, Object<ops::ObjectKind::tensor>, Address, Address, Address, Object<ops::ObjectKind::tensor>, Address, Address, Address, Number<size_t>, Address, Number<size_t>, Address, Number<size_t>, Address>()},
    {0x6f252126, "cudnnRNNBackwardWeights_v8", kNothing, signature<Object<ops::ObjectKind::rnn>, Number<int32_t>, Address, Object<ops::ObjectKind::rnn_data>, Address, Object<ops::ObjectKind::tensor>, Address, Object<ops::ObjectKind::rnn_data>, Address, Number<size_t>, Address, Number<size_t>, Address, Number<size_t>, Address>()},
    {0x79fa2afb, "cudnnRestoreDropoutDescriptor", ops::ObjectKind::dropout, signature<Handle, Real<float>, Address, Number<size_t>, Number<uint64_t>>()},
    {0x7ada1b64, "cudnnSetCTCLossDescriptorEx", ops::ObjectKind::ctc_loss, signature<Number<int32_t>, Number<int32_t>, Number<int32_t>>()},
    {0x7ed7eee4, "cudnnPoolingForward", kNothing, signature<Object<ops::ObjectKind::pooling>, Value, Object<ops::ObjectKind::tensor>, Address, Value, Object<ops::ObjectKind::tensor>, Address>()},
    {0x9378c44c, "cudnnBatchNormalizationForwardTrainingEx", kNothing, signature<Number<int32_t>, Number<int32_t>, Value, Value, Object<ops::ObjectKind::tensor>, Address, Object<ops::ObjectKind::tensor>, Address, Object<ops::ObjectKind::tensor>, Address, Object<ops::ObjectKind::tensor>, Address, Address, Real<double>, Address, Address, Real<double>, Address, Address, Object<ops::ObjectKind::activation>, Address, Number<size_t>, Address, Number<size_t>>()},
    {0x9784de15, "cudnnDropoutGetStatesSize", kNothing, signature<Result<8>>()},
    {0x9859e6fe, "cudnnBatchNormalizationForwardInference", kNothing, signature<Number<int32_t>, Value, Value, Object<ops::ObjectKind::tensor>, Address, Object<ops::ObjectKind::tensor>, Address, Object<ops::ObjectKind::tensor>, Address, Address, Address, Address, Real<double>>()},
    {0xaca80558, "cudnnRNNForward", kNothing, signature<Object<ops::ObjectKind::rnn>, Number<int32_t>, Address, Object<ops::ObjectKind::rnn_data>, Address, Object<ops::ObjectKind::rnn_data>, Address, Object<ops::ObjectKind::tensor>, Address, Address, Object<ops::ObjectKind::tensor>, Address, Address, Number<size_t>, Address, Number<size_t>, Address, Number<size_t>, Address>()},
    {0xb1c9f426, "cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize", kNothing, signature<Number<int32_t>, Number<int32_t>, Object<ops::ObjectKind::tensor>, Object<ops::ObjectKind::tensor>, Object<ops::ObjectKind::tensor>, Object<ops::ObjectKind::tensor>, Object<ops::ObjectKind::activation>, Result<8>>()},
    {0xb8cbd102, "cudnnSetConvolutionNdDescriptor", ops::ObjectKind::convolution, signature<Number<int32_t>, Array<0>, Array<0>, Array<0>, Number<int32_t>, Number<int32_t>>()},
    {0xbbe9b7f7, "cudnnConvolutionBiasActivationForward", kNothing, signature<Value, Object<ops::ObjectKind::tensor>, Address, Object<ops::ObjectKind::filter>, Address, Object<ops::ObjectKind::convolution>, Number<int32_t>, Address, Number<size_t>, Value, Object<ops::ObjectKind::tensor>, Address, Object<ops::ObjectKind::tensor>, Address, Object<ops::ObjectKind::activation>, Object<ops::ObjectKind::tensor>, Address>()},
    {0xbd8a5f36, "cudnnSpatialTfSamplerForward", kNothing, signature<Object<ops::ObjectKind::transformer>, Value, Object<ops::ObjectKind::tensor>, Address, Address, Value, Object<ops::ObjectKind::tensor>, Address>()},
    {0xbe6b1d77, "cudnnGetConvolutionForwardAlgorithm_v7", kNothing, signature<Object<ops::ObjectKind::tensor>, Object<ops::ObjectKind::filter>, Object<ops::ObjectKind::convolution>, Object<ops::ObjectKind::tensor>, Number<int32_t>, Result<4>, Results<4, 48>>()},
    {0xbfb46397, "cudnnSetRNNDescriptor_v8", ops::ObjectKind::rnn, signature<Number<int32_t>, Number<int32_t>, Number<int32_t>, Number<int32_t>, Number<int32_t>, Number<int32_t>, Number<int32_t>, Number<int32_t>, Number<int32_t>, Number<int32_t>, Number<int32_t>, Number<int32_t>, Object<ops::ObjectKind::dropout>, Number<uint32_t>>()},
    {0xc6328a7b, "cudnnGetCTCLossWorkspaceSize_v8", kNothing, signature<Number<int32_t>, Object<ops::ObjectKind::ctc_loss>, Object<ops::ObjectKind::tensor>, Object<ops::ObjectKind::tensor>, Result<8>>()},
    {0xca72a4f8, "cudnnGetBatchNormalizationTrainingExReserveSpaceSize", kNothing, signature<Number<int32_t>, Number<int32_t>, Object<ops::ObjectKind::activation>, Object<ops::ObjectKind::tensor>, Result<8>>()},
    {0xd19a4443, "cudnnGetConvolutionBackwardFilterAlgorithm_v7", kNothing, signature<Object<ops::ObjectKind::tensor>, Object<ops::ObjectKind::tensor>, Object<ops::ObjectKind::convolution>, Object<ops::ObjectKind::filter>, Number<int32_t>, Result<4>, Results<4, 48>>()},
    {0xd3add0cb, "cudnnGetRNNTempSpaceSizes", kNothing, signature<Object<ops::ObjectKind::rnn>, Number<int32_t>, Object<ops::ObjectKind::rnn_data>, Result<8>, Result<8>>()},
    {0xe7154d8f, "cudnnSetCTCLossDescriptor_v9", ops::ObjectKind::ctc_loss, signature<Number<int32_t>, Number<int32_t>, Number<int32_t>, Number<int32_t>>()},
    {0xe744b809, "cudnnCTCLoss_v8", kNothing, signature<Number<int32_t>, Object<ops::ObjectKind::ctc_loss>, Object<ops::ObjectKind::tensor>, Address, Address, Address, Address, Address, Object<ops::ObjectKind::tensor>, Address, Number<size_t>, Address>()},
    {0xe90847c0, "cudnnGetRNNWeightSpaceSize", kNothing, signature<Object<ops::ObjectKind::rnn>, Result<8>>()},
    {0xf06a5e32, "cudnnBatchNormalizationBackwardEx", kNothing, signature<Number<int32_t>, Number<int32_t>, Value, Value, Value, Value, Object<ops::ObjectKind::tensor>, Address, Object<ops::ObjectKind::tensor>, Address, Object<ops::ObjectKind::tensor>, Address, Object<ops::ObjectKind::tensor>, Address, Object<ops::ObjectKind::tensor>, Address, Object<ops::ObjectKind::tensor>, Address, Address, Address, Address, Real<double>, Address, Address, Object<ops::ObjectKind::activation>, Address, Number<size_t>, Address, Number<size_t>>()},
    {0xf0ea05ae, "cudnnGetConvolutionBackwardFilterWorkspaceSize", kNothing, signature<Object<ops::ObjectKind::tensor>, Object<ops::ObjectKind::tensor>, Object<ops::ObjectKind::convolution>, Object<ops::ObjectKind::filter>, Number<int32_t>, Result<8>>()},
    {0xf8525cf1, "cudnnGetConvolutionBackwardDataAlgorithm_v7", kNothing, signature<Object<ops::ObjectKind::filter>, Object<ops::ObjectKind::tensor>, Object<ops::ObjectKind::convolution>, Object<ops::ObjectKind::tensor>, Number<int32_t>, Result<4>, Results<4, 48>>()},
    {0xf9b5795f, "cudnnSetConvolutionGroupCount", ops::ObjectKind::convolution, signature<Number<int32_t>>()},
};
const uint32_t kDnnFunctionsCount = 47;

}  // namespace jitc::cuda
