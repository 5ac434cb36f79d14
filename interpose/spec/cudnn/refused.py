"""cuDNN functions that no device serves, by the advice that goes with them. See ``functions.py``."""

from __future__ import annotations

REFUSED: dict[str, str] = {
    "capture the stream instead: cudnnBackendExecute is captured like a kernel": """
    cudnnBackendPopulateCudaGraph cudnnBackendUpdateCudaGraph""",
    "create the descriptor with cudnnBackendCreateDescriptor": """
    cudnnBackendInitialize""",
    "cuDNN runs in the service's process: read its log there (CUDNN_LOGLEVEL_DBG)": """
    cudnnGetBackdoor cudnnGetCallback cudnnQueryRuntimeError cudnnSetBackdoor cudnnSetBackdoorEx
    cudnnSetCallback""",
    "ask cudnnGetVersion": """
    cudnnAdvVersionCheck cudnnCnnVersionCheck cudnnGetMaxDeviceVersion cudnnGraphVersionCheck
    cudnnOpsVersionCheck""",
    "use torch.nn.functional.scaled_dot_product_attention": """
    cudnnCreateAttnDescriptor cudnnCreateSeqDataDescriptor cudnnDestroyAttnDescriptor
    cudnnDestroySeqDataDescriptor cudnnGetAttnDescriptor cudnnGetMultiHeadAttnBuffers
    cudnnGetMultiHeadAttnWeights cudnnGetSeqDataDescriptor cudnnMultiHeadAttnBackwardData
    cudnnMultiHeadAttnBackwardWeights cudnnMultiHeadAttnForward cudnnSetAttnDescriptor cudnnSetSeqDataDescriptor""",
    "describe it as a graph (cudnnBackend...), or let the framework's own operator do it": """
    cudnnBatchNormalizationBackward cudnnBatchNormalizationForwardTraining cudnnCreateFusedOpsConstParamPack
    cudnnCreateFusedOpsPlan cudnnCreateFusedOpsVariantParamPack cudnnDeriveNormTensorDescriptor
    cudnnDestroyFusedOpsConstParamPack cudnnDestroyFusedOpsPlan cudnnDestroyFusedOpsVariantParamPack
    cudnnDivisiveNormalizationBackward cudnnDivisiveNormalizationForward cudnnFusedOpsExecute
    cudnnGetFusedOpsConstParamPackAttribute cudnnGetFusedOpsVariantParamPackAttribute
    cudnnGetNormalizationBackwardWorkspaceSize cudnnGetNormalizationForwardTrainingWorkspaceSize
    cudnnGetNormalizationTrainingReserveSpaceSize cudnnMakeFusedOpsPlan cudnnNormalizationBackward
    cudnnNormalizationForwardInference cudnnNormalizationForwardTraining cudnnSetFusedOpsConstParamPackAttribute
    cudnnSetFusedOpsVariantParamPackAttribute""",
    "PyTorch does not use it: describe it as a graph (cudnnBackend...), or let the framework's own operator do it": """
    cudnnActivationBackward cudnnActivationForward cudnnAddTensor cudnnBuildRNNDynamic
    cudnnConvolutionBackwardBias cudnnCreateLRNDescriptor cudnnCreateOpTensorDescriptor
    cudnnCreateReduceTensorDescriptor cudnnCreateTensorTransformDescriptor cudnnDeriveBNTensorDescriptor
    cudnnDestroyLRNDescriptor cudnnDestroyOpTensorDescriptor cudnnDestroyReduceTensorDescriptor
    cudnnDestroyTensorTransformDescriptor cudnnDropoutBackward cudnnDropoutForward
    cudnnDropoutGetReserveSpaceSize cudnnFindConvolutionBackwardDataAlgorithm
    cudnnFindConvolutionBackwardFilterAlgorithm cudnnFindConvolutionForwardAlgorithm
    cudnnGetActivationDescriptor cudnnGetActivationDescriptorSwishBeta cudnnGetCTCLossDescriptor
    cudnnGetCTCLossDescriptorEx cudnnGetCTCLossDescriptor_v8 cudnnGetCTCLossDescriptor_v9
    cudnnGetConvolution2dDescriptor cudnnGetConvolution2dForwardOutputDim
    cudnnGetConvolutionBackwardDataAlgorithmMaxCount cudnnGetConvolutionBackwardFilterAlgorithmMaxCount
    cudnnGetConvolutionForwardAlgorithmMaxCount cudnnGetConvolutionGroupCount cudnnGetConvolutionMathType
    cudnnGetConvolutionNdDescriptor cudnnGetConvolutionNdForwardOutputDim cudnnGetConvolutionReorderType
    cudnnGetDropoutDescriptor cudnnGetFilter4dDescriptor cudnnGetFilterSizeInBytes
    cudnnGetFoldedConvBackwardDataDescriptors cudnnGetLRNDescriptor cudnnGetOpTensorDescriptor
    cudnnGetPooling2dDescriptor cudnnGetPooling2dForwardOutputDim cudnnGetPoolingNdDescriptor
    cudnnGetPoolingNdForwardOutputDim cudnnGetRNNDataDescriptor cudnnGetRNNDescriptor_v8
    cudnnGetRNNDropoutLocationsInternal cudnnGetReduceTensorDescriptor cudnnGetReductionIndicesSize
    cudnnGetReductionWorkspaceSize cudnnGetTensor4dDescriptor cudnnGetTensorSizeInBytes
    cudnnGetTensorTransformDescriptor cudnnIm2Col cudnnInitTransformDest cudnnLRNCrossChannelBackward
    cudnnLRNCrossChannelForward cudnnOpTensor cudnnPoolingBackward cudnnRNNGetClip_v8 cudnnRNNGetClip_v9
    cudnnRNNSetClip_v8 cudnnRNNSetClip_v9 cudnnReduceTensor cudnnReorderFilterAndBias cudnnScaleTensor
    cudnnSetActivationDescriptorSwishBeta cudnnSetCTCLossDescriptor cudnnSetCTCLossDescriptor_v8
    cudnnSetConvolution2dDescriptor cudnnSetConvolutionReorderType cudnnSetFilter4dDescriptor
    cudnnSetLRNDescriptor cudnnSetOpTensorDescriptor cudnnSetPoolingNdDescriptor cudnnSetReduceTensorDescriptor
    cudnnSetTensor cudnnSetTensor4dDescriptor cudnnSetTensor4dDescriptorEx
    cudnnSetTensorNdDescriptorEx
    cudnnSetTensorTransformDescriptor
    cudnnSoftmaxBackward cudnnSoftmaxForward cudnnTransformFilter cudnnTransformTensor cudnnTransformTensorEx""",
}
