// Compiles only when the fake driver's signatures and structures are those of the real cuda.h. The internal
// declarations of that header also name the older versions of functions.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include "../cuda/abi.h"
#include "same_abi.h"

#define JITC_SAME_SIZE(type) static_assert(sizeof(jitc::fakes::type) == sizeof(::type), #type)
#define JITC_SAME_PLACE(type, field) \
  static_assert(offsetof(jitc::fakes::type, field) == offsetof(::type, field), #type "." #field)
#define JITC_SAME_CODE(ours, real) \
  static_assert(static_cast<int>(jitc::fakes::ours) == static_cast<int>(::real), #real)

namespace jitc::fakes {
#define JITC_FAKE(name, ...) \
  static_assert(SameAbi<__VA_ARGS__, std::remove_pointer_t<decltype(&::name)>>::value, #name);
#include "../cuda/functions.def"
}  // namespace jitc::fakes

JITC_SAME_SIZE(CUdeviceptr);
JITC_SAME_SIZE(CUuuid);
JITC_SAME_SIZE(CUmemAllocationProp);
JITC_SAME_PLACE(CUmemAllocationProp, location);
JITC_SAME_PLACE(CUmemAllocationProp, requestedHandleTypes);
JITC_SAME_SIZE(CUmemAccessDesc);
JITC_SAME_PLACE(CUmemAccessDesc, flags);
JITC_SAME_SIZE(CUDA_MEMCPY2D);
JITC_SAME_PLACE(CUDA_MEMCPY2D, srcMemoryType);
JITC_SAME_PLACE(CUDA_MEMCPY2D, srcHost);
JITC_SAME_PLACE(CUDA_MEMCPY2D, srcPitch);
JITC_SAME_PLACE(CUDA_MEMCPY2D, dstXInBytes);
JITC_SAME_PLACE(CUDA_MEMCPY2D, dstDevice);
JITC_SAME_PLACE(CUDA_MEMCPY2D, dstPitch);
JITC_SAME_PLACE(CUDA_MEMCPY2D, Height);
JITC_SAME_SIZE(CUlaunchAttribute);
JITC_SAME_PLACE(CUlaunchAttribute, value);
JITC_SAME_SIZE(CUlaunchConfig);
JITC_SAME_PLACE(CUlaunchConfig, sharedMemBytes);
JITC_SAME_PLACE(CUlaunchConfig, hStream);
JITC_SAME_PLACE(CUlaunchConfig, attrs);
JITC_SAME_PLACE(CUlaunchConfig, numAttrs);

JITC_SAME_CODE(kInvalidValue, CUDA_ERROR_INVALID_VALUE);
JITC_SAME_CODE(kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
JITC_SAME_CODE(kNotInitialized, CUDA_ERROR_NOT_INITIALIZED);
JITC_SAME_CODE(kNoDevice, CUDA_ERROR_NO_DEVICE);
JITC_SAME_CODE(kInvalidDevice, CUDA_ERROR_INVALID_DEVICE);
JITC_SAME_CODE(kInvalidImage, CUDA_ERROR_INVALID_IMAGE);
JITC_SAME_CODE(kInvalidContext, CUDA_ERROR_INVALID_CONTEXT);
JITC_SAME_CODE(kNoBinary, CUDA_ERROR_NO_BINARY_FOR_GPU);
JITC_SAME_CODE(kEccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE);
JITC_SAME_CODE(kInvalidHandle, CUDA_ERROR_INVALID_HANDLE);
JITC_SAME_CODE(kNotFound, CUDA_ERROR_NOT_FOUND);
JITC_SAME_CODE(kNotReady, CUDA_ERROR_NOT_READY);
JITC_SAME_CODE(kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
JITC_SAME_CODE(kLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
JITC_SAME_CODE(kContextDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
JITC_SAME_CODE(kAssert, CUDA_ERROR_ASSERT);
JITC_SAME_CODE(kAlreadyRegistered, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
JITC_SAME_CODE(kNotRegistered, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
JITC_SAME_CODE(kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
JITC_SAME_CODE(kCooperativeTooLarge, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
JITC_SAME_CODE(kNotPermitted, CUDA_ERROR_NOT_PERMITTED);
JITC_SAME_CODE(kNotSupported, CUDA_ERROR_NOT_SUPPORTED);
JITC_SAME_CODE(kCaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
JITC_SAME_CODE(kCaptureInvalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
JITC_SAME_CODE(kCaptureMerge, CUDA_ERROR_STREAM_CAPTURE_MERGE);
JITC_SAME_CODE(kCaptureUnmatched, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
JITC_SAME_CODE(kCaptureUnjoined, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
JITC_SAME_CODE(kCaptureIsolation, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
JITC_SAME_CODE(kCaptureImplicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
JITC_SAME_CODE(kCapturedEvent, CUDA_ERROR_CAPTURED_EVENT);
JITC_SAME_CODE(kCaptureWrongThread, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
JITC_SAME_CODE(kInvalidClusterSize, CUDA_ERROR_INVALID_CLUSTER_SIZE);
