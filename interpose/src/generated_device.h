// Generated from interpose/spec by `python -m jitc.interpose.generator`; do not edit.
#pragma once
#include <cstddef>
#include <cstdint>

namespace jitc::front {

/// Where an attribute's value comes from.
enum class Source : uint8_t { fixed, k_multiprocessors, k_pci_bus, k_capability_major, k_capability_minor };

struct Attribute { int32_t number; Source source; int32_t value; };
inline constexpr Attribute kAttributes[] = {
    {1, Source::fixed, 1024},  // threads per block
    {2, Source::fixed, 1024},  // block x
    {3, Source::fixed, 1024},  // block y
    {4, Source::fixed, 64},  // block z
    {5, Source::fixed, 2147483647},  // grid x
    {6, Source::fixed, 65535},  // grid y
    {7, Source::fixed, 65535},  // grid z
    {8, Source::fixed, 49152},  // shared memory per block
    {9, Source::fixed, 65536},  // constant memory
    {10, Source::fixed, 32},  // warp
    {11, Source::fixed, 2147483647},  // pitch
    {12, Source::fixed, 65536},  // registers per block
    {13, Source::fixed, 1000000},  // clock in kHz
    {14, Source::fixed, 512},  // texture alignment
    {15, Source::fixed, 1},  // copies overlap
    {16, Source::k_multiprocessors, 0},  // multiprocessors
    {19, Source::fixed, 1},  // maps host memory
    {30, Source::fixed, 512},  // surface alignment
    {31, Source::fixed, 1},  // concurrent kernels
    {33, Source::k_pci_bus, 0},  // PCI bus
    {36, Source::fixed, 1000000},  // memory clock in kHz
    {37, Source::fixed, 64},  // memory bus in bits
    {38, Source::fixed, 4194304},  // L2 cache
    {39, Source::fixed, 1024},  // threads per multiprocessor
    {40, Source::fixed, 2},  // copy engines
    {41, Source::fixed, 1},  // unified addresses
    {51, Source::fixed, 32},  // texture pitch alignment
    {75, Source::k_capability_major, 0},  // capability, major
    {76, Source::k_capability_minor, 0},  // capability, minor
    {78, Source::fixed, 1},  // stream priorities
    {79, Source::fixed, 1},  // L1 caches global memory
    {80, Source::fixed, 1},  // L1 caches local memory
    {81, Source::fixed, 102400},  // shared memory per multiprocessor
    {82, Source::fixed, 65536},  // registers per multiprocessor
    {87, Source::fixed, 2},  // single to double rate
    {90, Source::fixed, 1},  // preemption
    {95, Source::fixed, 1},  // cooperative launch
    {97, Source::fixed, 101376},  // shared memory per block, opt-in
    {99, Source::fixed, 1},  // registers host memory
    {106, Source::fixed, 16},  // blocks per multiprocessor
    {111, Source::fixed, 1024},  // reserved shared memory per block
};

struct PropField { uint16_t offset; uint8_t bytes; int32_t attribute; };
inline constexpr size_t kDevicePropBytes = 1008;
inline constexpr PropField kDeviceProp[] = {
    {296, 8, 8},  // sharedMemPerBlock
    {304, 4, 12},  // regsPerBlock
    {308, 4, 10},  // warpSize
    {312, 8, 11},  // memPitch
    {320, 4, 1},  // maxThreadsPerBlock
    {324, 4, 2},  // maxThreadsDim[0]
    {328, 4, 3},  // maxThreadsDim[1]
    {332, 4, 4},  // maxThreadsDim[2]
    {336, 4, 5},  // maxGridSize[0]
    {340, 4, 6},  // maxGridSize[1]
    {344, 4, 7},  // maxGridSize[2]
    {352, 8, 9},  // totalConstMem
    {360, 4, 75},  // major
    {364, 4, 76},  // minor
    {368, 8, 14},  // textureAlignment
    {376, 8, 51},  // texturePitchAlignment
    {384, 4, 16},  // multiProcessorCount
    {392, 4, 19},  // canMapHostMemory
    {552, 8, 30},  // surfaceAlignment
    {560, 4, 31},  // concurrentKernels
    {568, 4, 33},  // pciBusID
    {584, 4, 40},  // asyncEngineCount
    {588, 4, 41},  // unifiedAddressing
    {592, 4, 37},  // memoryBusWidth
    {596, 4, 38},  // l2CacheSize
    {604, 4, 39},  // maxThreadsPerMultiProcessor
    {608, 4, 78},  // streamPrioritiesSupported
    {612, 4, 79},  // globalL1CacheSupported
    {616, 4, 80},  // localL1CacheSupported
    {624, 8, 81},  // sharedMemPerMultiprocessor
    {632, 4, 82},  // regsPerMultiprocessor
    {660, 4, 90},  // computePreemptionSupported
    {668, 4, 95},  // cooperativeLaunch
    {672, 8, 97},  // sharedMemPerBlockOptin
    {688, 4, 106},  // maxBlocksPerMultiProcessor
    {696, 8, 111},  // reservedSharedMemPerBlock
    {704, 4, 99},  // hostRegisterSupported
};
inline constexpr size_t kDeviceProp_name = 0;
inline constexpr size_t kDeviceProp_uuid = 256;
inline constexpr size_t kDeviceProp_totalGlobalMem = 288;

struct ErrorText { int32_t code; const char *runtime, *driver, *text; };
inline constexpr ErrorText kErrors[] = {
    {0, "cudaSuccess", "CUDA_SUCCESS", "no error"},
    {1, "cudaErrorInvalidValue", "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "cudaErrorInitializationError", "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {4, "cudaErrorCudartUnloading", "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {5, "cudaErrorProfilerDisabled", "CUDA_ERROR_PROFILER_DISABLED", "profiler disabled"},
    {9, "cudaErrorInvalidConfiguration", "", "invalid configuration argument"},
    {12, "cudaErrorInvalidPitchValue", "", "invalid pitch argument"},
    {13, "cudaErrorInvalidSymbol", "", "invalid device symbol"},
    {16, "cudaErrorInvalidHostPointer", "", "invalid host pointer"},
    {17, "cudaErrorInvalidDevicePointer", "", "invalid device pointer"},
    {21, "cudaErrorInvalidMemcpyDirection", "", "invalid copy direction for memcpy"},
    {34, "cudaErrorStubLibrary", "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {35, "cudaErrorInsufficientDriver", "", "CUDA driver version is insufficient for CUDA runtime version"},
    {36, "cudaErrorCallRequiresNewerDriver", "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", "call requires a newer CUDA driver"},
    {46, "cudaErrorDevicesUnavailable", "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {49, "cudaErrorIncompatibleDriverContext", "", "incompatible driver context"},
    {52, "cudaErrorMissingConfiguration", "", "missing launch configuration"},
    {53, "cudaErrorPriorLaunchFailure", "", "unspecified launch failure in prior launch"},
    {98, "cudaErrorInvalidDeviceFunction", "", "invalid device function"},
    {100, "cudaErrorNoDevice", "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "cudaErrorInvalidDevice", "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {103, "cudaErrorSoftwareValidityNotEstablished", "", "integrity checks failed"},
    {127, "cudaErrorStartupFailure", "", "startup failure in CUDA runtime"},
    {200, "cudaErrorInvalidKernelImage", "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "cudaErrorDeviceUninitialized", "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "cudaErrorNoKernelImageForDevice", "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {214, "cudaErrorECCUncorrectable", "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {215, "cudaErrorUnsupportedLimit", "CUDA_ERROR_UNSUPPORTED_LIMIT", "limit is not supported on this architecture"},
    {217, "cudaErrorPeerAccessUnsupported", "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "peer access is not supported between these two devices"},
    {218, "cudaErrorInvalidPtx", "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {220, "cudaErrorNvlinkUncorrectable", "CUDA_ERROR_NVLINK_UNCORRECTABLE", "uncorrectable NVLink error detected"},
    {221, "cudaErrorJitCompilerNotFound", "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "PTX JIT compiler library not found"},
    {222, "cudaErrorUnsupportedPtxVersion", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain"},
    {226, "cudaErrorContained", "CUDA_ERROR_CONTAINED", "contained error"},
    {301, "cudaErrorFileNotFound", "CUDA_ERROR_FILE_NOT_FOUND", "file not found"},
    {302, "cudaErrorSharedObjectSymbolNotFound", "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", "shared object symbol not found"},
    {303, "cudaErrorSharedObjectInitFailed", "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", "shared object initialization failed"},
    {304, "cudaErrorOperatingSystem", "CUDA_ERROR_OPERATING_SYSTEM", "OS call failed or operation not supported on this OS"},
    {400, "cudaErrorInvalidResourceHandle", "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {401, "cudaErrorIllegalState", "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"},
    {500, "cudaErrorSymbolNotFound", "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "cudaErrorNotReady", "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "cudaErrorIllegalAddress", "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {701, "cudaErrorLaunchOutOfResources", "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {702, "cudaErrorLaunchTimeout", "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {704, "cudaErrorPeerAccessAlreadyEnabled", "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"},
    {705, "cudaErrorPeerAccessNotEnabled", "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access has not been enabled"},
    {708, "cudaErrorSetOnActiveProcess", "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", "cannot set while device is active in this process"},
    {709, "cudaErrorContextIsDestroyed", "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {710, "cudaErrorAssert", "CUDA_ERROR_ASSERT", "device-side assert triggered"},
    {712, "cudaErrorHostMemoryAlreadyRegistered", "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped"},
    {713, "cudaErrorHostMemoryNotRegistered", "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region"},
    {714, "cudaErrorHardwareStackError", "CUDA_ERROR_HARDWARE_STACK_ERROR", "hardware stack error"},
    {715, "cudaErrorIllegalInstruction", "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered"},
    {716, "cudaErrorMisalignedAddress", "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {717, "cudaErrorInvalidAddressSpace", "CUDA_ERROR_INVALID_ADDRESS_SPACE", "operation not supported on global/shared address space"},
    {718, "cudaErrorInvalidPc", "CUDA_ERROR_INVALID_PC", "invalid program counter"},
    {719, "cudaErrorLaunchFailure", "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {720, "cudaErrorCooperativeLaunchTooLarge", "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch"},
    {800, "cudaErrorNotPermitted", "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {801, "cudaErrorNotSupported", "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {802, "cudaErrorSystemNotReady", "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"},
    {803, "cudaErrorSystemDriverMismatch", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"},
    {805, "cudaErrorMpsConnectionFailed", "CUDA_ERROR_MPS_CONNECTION_FAILED", "MPS client failed to connect to the MPS control daemon or the MPS server"},
    {900, "cudaErrorStreamCaptureUnsupported", "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
    {901, "cudaErrorStreamCaptureInvalidated", "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"},
    {908, "cudaErrorStreamCaptureWrongThread", "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "attempt to terminate a thread-local capture sequence from another thread"},
    {909, "cudaErrorTimeout", "CUDA_ERROR_TIMEOUT", "wait operation timed out"},
    {910, "cudaErrorGraphExecUpdateFailure", "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "the graph update was not performed"},
    {911, "cudaErrorExternalDevice", "CUDA_ERROR_EXTERNAL_DEVICE", "an async error has occurred in external entity outside of CUDA"},
    {999, "cudaErrorUnknown", "CUDA_ERROR_UNKNOWN", "unknown error"},
};

}  // namespace jitc::front
