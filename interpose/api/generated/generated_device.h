// Generated from interpose/spec by `python -m jitc.interpose.generator`; do not edit.
#pragma once
#include <cstddef>
#include <cstdint>

namespace jitc::api {

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
    {102, Source::fixed, 1},  // memory is mapped by hand
    {106, Source::fixed, 16},  // blocks per multiprocessor
    {111, Source::fixed, 1024},  // reserved shared memory per block
};
/// What a real GPU has and the proxy does not serve.
inline constexpr int32_t kWithheld[] = {19, 83, 86, 88, 89, 91, 92, 93, 94, 96, 98, 100, 101, 103, 104, 105, 110, 112, 113, 114, 116, 117, 118, 119, 121, 122, 123, 124, 125, 128, 132, 135, 138, 141, 142, 143, 144, 145, 146};

struct PropField { uint16_t offset; uint8_t bytes; int32_t attribute; };
inline constexpr size_t kDevicePropBytes = 1008;
inline constexpr PropField kDeviceProp[] = {
    {296, 8, 8},  // sharedMemPerBlock
    {304, 4, 12},  // regsPerBlock
    {308, 4, 10},  // warpSize
    {312, 8, 11},  // memPitch
    {320, 4, 1},  // maxThreadsPerBlock
    {324, 4, 2},  // maxThreadsDim
    {328, 4, 3},  // maxThreadsDim
    {332, 4, 4},  // maxThreadsDim
    {336, 4, 5},  // maxGridSize
    {340, 4, 6},  // maxGridSize
    {344, 4, 7},  // maxGridSize
    {352, 8, 9},  // totalConstMem
    {360, 4, 75},  // major
    {364, 4, 76},  // minor
    {368, 8, 14},  // textureAlignment
    {376, 8, 51},  // texturePitchAlignment
    {384, 4, 16},  // multiProcessorCount
    {388, 4, 18},  // integrated
    {392, 4, 19},  // canMapHostMemory
    {396, 4, 21},  // maxTexture1D
    {400, 4, 77},  // maxTexture1DMipmap
    {404, 4, 22},  // maxTexture2D
    {408, 4, 23},  // maxTexture2D
    {412, 4, 73},  // maxTexture2DMipmap
    {416, 4, 74},  // maxTexture2DMipmap
    {420, 4, 70},  // maxTexture2DLinear
    {424, 4, 71},  // maxTexture2DLinear
    {428, 4, 72},  // maxTexture2DLinear
    {432, 4, 45},  // maxTexture2DGather
    {436, 4, 46},  // maxTexture2DGather
    {440, 4, 24},  // maxTexture3D
    {444, 4, 25},  // maxTexture3D
    {448, 4, 26},  // maxTexture3D
    {452, 4, 47},  // maxTexture3DAlt
    {456, 4, 48},  // maxTexture3DAlt
    {460, 4, 49},  // maxTexture3DAlt
    {464, 4, 52},  // maxTextureCubemap
    {468, 4, 42},  // maxTexture1DLayered
    {472, 4, 43},  // maxTexture1DLayered
    {476, 4, 27},  // maxTexture2DLayered
    {480, 4, 28},  // maxTexture2DLayered
    {484, 4, 29},  // maxTexture2DLayered
    {488, 4, 53},  // maxTextureCubemapLayered
    {492, 4, 54},  // maxTextureCubemapLayered
    {496, 4, 55},  // maxSurface1D
    {500, 4, 56},  // maxSurface2D
    {504, 4, 57},  // maxSurface2D
    {508, 4, 58},  // maxSurface3D
    {512, 4, 59},  // maxSurface3D
    {516, 4, 60},  // maxSurface3D
    {520, 4, 61},  // maxSurface1DLayered
    {524, 4, 62},  // maxSurface1DLayered
    {528, 4, 63},  // maxSurface2DLayered
    {532, 4, 64},  // maxSurface2DLayered
    {536, 4, 65},  // maxSurface2DLayered
    {540, 4, 66},  // maxSurfaceCubemap
    {544, 4, 67},  // maxSurfaceCubemapLayered
    {548, 4, 68},  // maxSurfaceCubemapLayered
    {552, 8, 30},  // surfaceAlignment
    {560, 4, 31},  // concurrentKernels
    {564, 4, 32},  // ECCEnabled
    {568, 4, 33},  // pciBusID
    {572, 4, 34},  // pciDeviceID
    {576, 4, 50},  // pciDomainID
    {580, 4, 35},  // tccDriver
    {584, 4, 40},  // asyncEngineCount
    {588, 4, 41},  // unifiedAddressing
    {592, 4, 37},  // memoryBusWidth
    {596, 4, 38},  // l2CacheSize
    {600, 4, 108},  // persistingL2CacheMaxSize
    {604, 4, 39},  // maxThreadsPerMultiProcessor
    {608, 4, 78},  // streamPrioritiesSupported
    {612, 4, 79},  // globalL1CacheSupported
    {616, 4, 80},  // localL1CacheSupported
    {624, 8, 81},  // sharedMemPerMultiprocessor
    {632, 4, 82},  // regsPerMultiprocessor
    {636, 4, 83},  // managedMemory
    {640, 4, 84},  // isMultiGpuBoard
    {644, 4, 85},  // multiGpuBoardGroupID
    {648, 4, 86},  // hostNativeAtomicSupported
    {652, 4, 88},  // pageableMemoryAccess
    {656, 4, 89},  // concurrentManagedAccess
    {660, 4, 90},  // computePreemptionSupported
    {664, 4, 91},  // canUseHostPointerForRegisteredMem
    {668, 4, 95},  // cooperativeLaunch
    {672, 8, 97},  // sharedMemPerBlockOptin
    {680, 4, 100},  // pageableMemoryAccessUsesHostPageTables
    {684, 4, 101},  // directManagedMemAccessFromHost
    {688, 4, 106},  // maxBlocksPerMultiProcessor
    {692, 4, 109},  // accessPolicyMaxWindowSize
    {696, 8, 111},  // reservedSharedMemPerBlock
    {704, 4, 99},  // hostRegisterSupported
    {708, 4, 112},  // sparseCudaArraySupported
    {712, 4, 113},  // hostRegisterReadOnlySupported
    {716, 4, 114},  // timelineSemaphoreInteropSupported
    {720, 4, 115},  // memoryPoolsSupported
    {724, 4, 116},  // gpuDirectRDMASupported
    {728, 4, 117},  // gpuDirectRDMAFlushWritesOptions
    {732, 4, 118},  // gpuDirectRDMAWritesOrdering
    {736, 4, 119},  // memoryPoolSupportedHandleTypes
    {740, 4, 121},  // deferredMappingCudaArraySupported
    {744, 4, 125},  // ipcEventSupported
    {748, 4, 120},  // clusterLaunch
    {752, 4, 129},  // unifiedFunctionPointers
    {756, 4, 130},  // deviceNumaConfig
    {760, 4, 131},  // deviceNumaId
    {764, 4, 133},  // mpsEnabled
    {768, 4, 134},  // hostNumaId
    {772, 4, 139},  // gpuPciDeviceID
    {776, 4, 140},  // gpuPciSubsystemID
    {780, 4, 143},  // hostNumaMultinodeIpcSupported
};
inline constexpr size_t kDeviceProp12Bytes = 1032;
inline constexpr PropField kDeviceProp12[] = {
    {296, 8, 8},  // sharedMemPerBlock
    {304, 4, 12},  // regsPerBlock
    {308, 4, 10},  // warpSize
    {312, 8, 11},  // memPitch
    {320, 4, 1},  // maxThreadsPerBlock
    {324, 4, 2},  // maxThreadsDim
    {328, 4, 3},  // maxThreadsDim
    {332, 4, 4},  // maxThreadsDim
    {336, 4, 5},  // maxGridSize
    {340, 4, 6},  // maxGridSize
    {344, 4, 7},  // maxGridSize
    {348, 4, 13},  // clockRate
    {352, 8, 9},  // totalConstMem
    {360, 4, 75},  // major
    {364, 4, 76},  // minor
    {368, 8, 14},  // textureAlignment
    {376, 8, 51},  // texturePitchAlignment
    {384, 4, 15},  // deviceOverlap
    {388, 4, 16},  // multiProcessorCount
    {392, 4, 17},  // kernelExecTimeoutEnabled
    {396, 4, 18},  // integrated
    {400, 4, 19},  // canMapHostMemory
    {404, 4, 20},  // computeMode
    {408, 4, 21},  // maxTexture1D
    {412, 4, 77},  // maxTexture1DMipmap
    {416, 4, 69},  // maxTexture1DLinear
    {420, 4, 22},  // maxTexture2D
    {424, 4, 23},  // maxTexture2D
    {428, 4, 73},  // maxTexture2DMipmap
    {432, 4, 74},  // maxTexture2DMipmap
    {436, 4, 70},  // maxTexture2DLinear
    {440, 4, 71},  // maxTexture2DLinear
    {444, 4, 72},  // maxTexture2DLinear
    {448, 4, 45},  // maxTexture2DGather
    {452, 4, 46},  // maxTexture2DGather
    {456, 4, 24},  // maxTexture3D
    {460, 4, 25},  // maxTexture3D
    {464, 4, 26},  // maxTexture3D
    {468, 4, 47},  // maxTexture3DAlt
    {472, 4, 48},  // maxTexture3DAlt
    {476, 4, 49},  // maxTexture3DAlt
    {480, 4, 52},  // maxTextureCubemap
    {484, 4, 42},  // maxTexture1DLayered
    {488, 4, 43},  // maxTexture1DLayered
    {492, 4, 27},  // maxTexture2DLayered
    {496, 4, 28},  // maxTexture2DLayered
    {500, 4, 29},  // maxTexture2DLayered
    {504, 4, 53},  // maxTextureCubemapLayered
    {508, 4, 54},  // maxTextureCubemapLayered
    {512, 4, 55},  // maxSurface1D
    {516, 4, 56},  // maxSurface2D
    {520, 4, 57},  // maxSurface2D
    {524, 4, 58},  // maxSurface3D
    {528, 4, 59},  // maxSurface3D
    {532, 4, 60},  // maxSurface3D
    {536, 4, 61},  // maxSurface1DLayered
    {540, 4, 62},  // maxSurface1DLayered
    {544, 4, 63},  // maxSurface2DLayered
    {548, 4, 64},  // maxSurface2DLayered
    {552, 4, 65},  // maxSurface2DLayered
    {556, 4, 66},  // maxSurfaceCubemap
    {560, 4, 67},  // maxSurfaceCubemapLayered
    {564, 4, 68},  // maxSurfaceCubemapLayered
    {568, 8, 30},  // surfaceAlignment
    {576, 4, 31},  // concurrentKernels
    {580, 4, 32},  // ECCEnabled
    {584, 4, 33},  // pciBusID
    {588, 4, 34},  // pciDeviceID
    {592, 4, 50},  // pciDomainID
    {596, 4, 35},  // tccDriver
    {600, 4, 40},  // asyncEngineCount
    {604, 4, 41},  // unifiedAddressing
    {608, 4, 36},  // memoryClockRate
    {612, 4, 37},  // memoryBusWidth
    {616, 4, 38},  // l2CacheSize
    {620, 4, 108},  // persistingL2CacheMaxSize
    {624, 4, 39},  // maxThreadsPerMultiProcessor
    {628, 4, 78},  // streamPrioritiesSupported
    {632, 4, 79},  // globalL1CacheSupported
    {636, 4, 80},  // localL1CacheSupported
    {640, 8, 81},  // sharedMemPerMultiprocessor
    {648, 4, 82},  // regsPerMultiprocessor
    {652, 4, 83},  // managedMemory
    {656, 4, 84},  // isMultiGpuBoard
    {660, 4, 85},  // multiGpuBoardGroupID
    {664, 4, 86},  // hostNativeAtomicSupported
    {668, 4, 87},  // singleToDoublePrecisionPerfRatio
    {672, 4, 88},  // pageableMemoryAccess
    {676, 4, 89},  // concurrentManagedAccess
    {680, 4, 90},  // computePreemptionSupported
    {684, 4, 91},  // canUseHostPointerForRegisteredMem
    {688, 4, 95},  // cooperativeLaunch
    {692, 4, 96},  // cooperativeMultiDeviceLaunch
    {696, 8, 97},  // sharedMemPerBlockOptin
    {704, 4, 100},  // pageableMemoryAccessUsesHostPageTables
    {708, 4, 101},  // directManagedMemAccessFromHost
    {712, 4, 106},  // maxBlocksPerMultiProcessor
    {716, 4, 109},  // accessPolicyMaxWindowSize
    {720, 8, 111},  // reservedSharedMemPerBlock
    {728, 4, 99},  // hostRegisterSupported
    {732, 4, 112},  // sparseCudaArraySupported
    {736, 4, 113},  // hostRegisterReadOnlySupported
    {740, 4, 114},  // timelineSemaphoreInteropSupported
    {744, 4, 115},  // memoryPoolsSupported
    {748, 4, 116},  // gpuDirectRDMASupported
    {752, 4, 117},  // gpuDirectRDMAFlushWritesOptions
    {756, 4, 118},  // gpuDirectRDMAWritesOrdering
    {760, 4, 119},  // memoryPoolSupportedHandleTypes
    {764, 4, 121},  // deferredMappingCudaArraySupported
    {768, 4, 125},  // ipcEventSupported
    {772, 4, 120},  // clusterLaunch
    {776, 4, 129},  // unifiedFunctionPointers
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
    {5, "cudaErrorProfilerDisabled", "CUDA_ERROR_PROFILER_DISABLED", "profiler disabled while using external profiling tool"},
    {6, "cudaErrorProfilerNotInitialized", "CUDA_ERROR_PROFILER_NOT_INITIALIZED", "profiler not initialized: call cudaProfilerInitialize()"},
    {7, "cudaErrorProfilerAlreadyStarted", "CUDA_ERROR_PROFILER_ALREADY_STARTED", "profiler already started"},
    {8, "cudaErrorProfilerAlreadyStopped", "CUDA_ERROR_PROFILER_ALREADY_STOPPED", "profiler already stopped"},
    {9, "cudaErrorInvalidConfiguration", "", "invalid configuration argument"},
    {12, "cudaErrorInvalidPitchValue", "", "invalid pitch argument"},
    {13, "cudaErrorInvalidSymbol", "", "invalid device symbol"},
    {16, "cudaErrorInvalidHostPointer", "", "invalid host pointer"},
    {17, "cudaErrorInvalidDevicePointer", "", "invalid device pointer"},
    {18, "cudaErrorInvalidTexture", "", "invalid texture reference"},
    {19, "cudaErrorInvalidTextureBinding", "", "texture is not bound to a pointer"},
    {20, "cudaErrorInvalidChannelDescriptor", "", "invalid channel descriptor"},
    {21, "cudaErrorInvalidMemcpyDirection", "", "invalid copy direction for memcpy"},
    {22, "cudaErrorAddressOfConstant", "", "invalid address of constant"},
    {23, "cudaErrorTextureFetchFailed", "", "fetch from texture failed"},
    {24, "cudaErrorTextureNotBound", "", "cannot fetch from a texture that is not bound"},
    {25, "cudaErrorSynchronizationError", "", "incorrect use of __syncthreads()"},
    {26, "cudaErrorInvalidFilterSetting", "", "linear filtering not supported for non-float type"},
    {27, "cudaErrorInvalidNormSetting", "", "read as normalized float not supported for data type"},
    {28, "cudaErrorMixedDeviceExecution", "", "device emulation mode and device execution mode cannot be mixed"},
    {31, "cudaErrorNotYetImplemented", "", "feature not yet implemented"},
    {32, "cudaErrorMemoryValueTooLarge", "", "memory size or pointer value too large to fit in 32 bit"},
    {34, "cudaErrorStubLibrary", "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {35, "cudaErrorInsufficientDriver", "", "CUDA driver version is insufficient for CUDA runtime version"},
    {36, "cudaErrorCallRequiresNewerDriver", "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", "API call is not supported in the installed CUDA driver"},
    {37, "cudaErrorInvalidSurface", "", "invalid surface reference"},
    {43, "cudaErrorDuplicateVariableName", "", "duplicate global variable looked up by string name"},
    {44, "cudaErrorDuplicateTextureName", "", "duplicate texture looked up by string name"},
    {45, "cudaErrorDuplicateSurfaceName", "", "duplicate surface looked up by string name"},
    {46, "cudaErrorDevicesUnavailable", "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {49, "cudaErrorIncompatibleDriverContext", "", "incompatible driver context"},
    {52, "cudaErrorMissingConfiguration", "", "__global__ function call is not configured"},
    {53, "cudaErrorPriorLaunchFailure", "", "unspecified launch failure in prior launch"},
    {65, "cudaErrorLaunchMaxDepthExceeded", "", "launch would exceed maximum depth of nested launches"},
    {66, "cudaErrorLaunchFileScopedTex", "", "launch failed because kernel uses unsupported, file-scoped textures (texture objects are supported)"},
    {67, "cudaErrorLaunchFileScopedSurf", "", "launch failed because kernel uses unsupported, file-scoped surfaces (surface objects are supported)"},
    {68, "cudaErrorSyncDepthExceeded", "", "cudaDeviceSynchronize failed because caller's grid depth exceeds cudaLimitDevRuntimeSyncDepth"},
    {69, "cudaErrorLaunchPendingCountExceeded", "", "launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount"},
    {98, "cudaErrorInvalidDeviceFunction", "", "invalid device function"},
    {100, "cudaErrorNoDevice", "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "cudaErrorInvalidDevice", "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {102, "cudaErrorDeviceNotLicensed", "CUDA_ERROR_DEVICE_NOT_LICENSED", "device doesn't have valid Grid license"},
    {103, "cudaErrorSoftwareValidityNotEstablished", "", "integrity checks failed"},
    {127, "cudaErrorStartupFailure", "", "startup failure in cuda runtime"},
    {200, "cudaErrorInvalidKernelImage", "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "cudaErrorDeviceUninitialized", "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {205, "cudaErrorMapBufferObjectFailed", "CUDA_ERROR_MAP_FAILED", "mapping of buffer object failed"},
    {206, "cudaErrorUnmapBufferObjectFailed", "CUDA_ERROR_UNMAP_FAILED", "unmapping of buffer object failed"},
    {207, "cudaErrorArrayIsMapped", "CUDA_ERROR_ARRAY_IS_MAPPED", "array is mapped"},
    {208, "cudaErrorAlreadyMapped", "CUDA_ERROR_ALREADY_MAPPED", "resource already mapped"},
    {209, "cudaErrorNoKernelImageForDevice", "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {210, "cudaErrorAlreadyAcquired", "CUDA_ERROR_ALREADY_ACQUIRED", "resource already acquired"},
    {211, "cudaErrorNotMapped", "CUDA_ERROR_NOT_MAPPED", "resource not mapped"},
    {212, "cudaErrorNotMappedAsArray", "CUDA_ERROR_NOT_MAPPED_AS_ARRAY", "resource not mapped as array"},
    {213, "cudaErrorNotMappedAsPointer", "CUDA_ERROR_NOT_MAPPED_AS_POINTER", "resource not mapped as pointer"},
    {214, "cudaErrorECCUncorrectable", "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {215, "cudaErrorUnsupportedLimit", "CUDA_ERROR_UNSUPPORTED_LIMIT", "limit is not supported on this architecture"},
    {216, "cudaErrorDeviceAlreadyInUse", "CUDA_ERROR_CONTEXT_ALREADY_IN_USE", "exclusive-thread device already in use by a different thread"},
    {217, "cudaErrorPeerAccessUnsupported", "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "peer access is not supported between these two devices"},
    {218, "cudaErrorInvalidPtx", "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {219, "cudaErrorInvalidGraphicsContext", "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT", "invalid OpenGL or DirectX context"},
    {220, "cudaErrorNvlinkUncorrectable", "CUDA_ERROR_NVLINK_UNCORRECTABLE", "uncorrectable NVLink error detected during the execution"},
    {221, "cudaErrorJitCompilerNotFound", "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "PTX JIT compiler library not found"},
    {222, "cudaErrorUnsupportedPtxVersion", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."},
    {223, "cudaErrorJitCompilationDisabled", "CUDA_ERROR_JIT_COMPILATION_DISABLED", "PTX JIT compilation was disabled"},
    {224, "cudaErrorUnsupportedExecAffinity", "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY", "the provided execution affinity is not supported"},
    {225, "cudaErrorUnsupportedDevSideSync", "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC", "the provided PTX contains unsupported call to cudaDeviceSynchronize"},
    {226, "cudaErrorContained", "CUDA_ERROR_CONTAINED", "Invalid access of peer GPU memory over nvlink or a hardware error"},
    {300, "cudaErrorInvalidSource", "CUDA_ERROR_INVALID_SOURCE", "device kernel image is invalid"},
    {301, "cudaErrorFileNotFound", "CUDA_ERROR_FILE_NOT_FOUND", "file not found"},
    {302, "cudaErrorSharedObjectSymbolNotFound", "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", "shared object symbol not found"},
    {303, "cudaErrorSharedObjectInitFailed", "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", "shared object initialization failed"},
    {304, "cudaErrorOperatingSystem", "CUDA_ERROR_OPERATING_SYSTEM", "OS call failed or operation not supported on this OS"},
    {400, "cudaErrorInvalidResourceHandle", "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {401, "cudaErrorIllegalState", "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"},
    {402, "cudaErrorLossyQuery", "CUDA_ERROR_LOSSY_QUERY", "attempted introspection would be semantically lossy"},
    {500, "cudaErrorSymbolNotFound", "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "cudaErrorNotReady", "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "cudaErrorIllegalAddress", "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {701, "cudaErrorLaunchOutOfResources", "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {702, "cudaErrorLaunchTimeout", "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {703, "cudaErrorLaunchIncompatibleTexturing", "CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING", "launch uses incompatible texturing mode"},
    {704, "cudaErrorPeerAccessAlreadyEnabled", "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"},
    {705, "cudaErrorPeerAccessNotEnabled", "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access has not been enabled"},
    {708, "cudaErrorSetOnActiveProcess", "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", "cannot set while device is active in this process"},
    {709, "cudaErrorContextIsDestroyed", "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {710, "cudaErrorAssert", "CUDA_ERROR_ASSERT", "device-side assert triggered"},
    {711, "cudaErrorTooManyPeers", "CUDA_ERROR_TOO_MANY_PEERS", "peer mapping resources exhausted"},
    {712, "cudaErrorHostMemoryAlreadyRegistered", "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped"},
    {713, "cudaErrorHostMemoryNotRegistered", "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region"},
    {714, "cudaErrorHardwareStackError", "CUDA_ERROR_HARDWARE_STACK_ERROR", "hardware stack error"},
    {715, "cudaErrorIllegalInstruction", "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered"},
    {716, "cudaErrorMisalignedAddress", "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {717, "cudaErrorInvalidAddressSpace", "CUDA_ERROR_INVALID_ADDRESS_SPACE", "operation not supported on global/shared address space"},
    {718, "cudaErrorInvalidPc", "CUDA_ERROR_INVALID_PC", "invalid program counter"},
    {719, "cudaErrorLaunchFailure", "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {720, "cudaErrorCooperativeLaunchTooLarge", "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch"},
    {721, "cudaErrorTensorMemoryLeak", "CUDA_ERROR_TENSOR_MEMORY_LEAK", "tensor memory not completely freed"},
    {800, "cudaErrorNotPermitted", "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {801, "cudaErrorNotSupported", "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {802, "cudaErrorSystemNotReady", "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"},
    {803, "cudaErrorSystemDriverMismatch", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"},
    {804, "cudaErrorCompatNotSupportedOnDevice", "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "forward compatibility was attempted on non supported HW"},
    {805, "cudaErrorMpsConnectionFailed", "CUDA_ERROR_MPS_CONNECTION_FAILED", "MPS client failed to connect to the MPS control daemon or the MPS server"},
    {806, "cudaErrorMpsRpcFailure", "CUDA_ERROR_MPS_RPC_FAILURE", "the remote procedural call between the MPS server and the MPS client failed"},
    {807, "cudaErrorMpsServerNotReady", "CUDA_ERROR_MPS_SERVER_NOT_READY", "MPS server is not ready to accept new MPS client requests"},
    {808, "cudaErrorMpsMaxClientsReached", "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED", "the hardware resources required to create MPS client have been exhausted"},
    {809, "cudaErrorMpsMaxConnectionsReached", "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED", "the hardware resources required to support device connections have been exhausted"},
    {810, "cudaErrorMpsClientTerminated", "CUDA_ERROR_MPS_CLIENT_TERMINATED", "the MPS client has been terminated by the server"},
    {811, "cudaErrorCdpNotSupported", "CUDA_ERROR_CDP_NOT_SUPPORTED", "is using CUDA Dynamic Parallelism, but the current configuration, like MPS, does not support it"},
    {812, "cudaErrorCdpVersionMismatch", "CUDA_ERROR_CDP_VERSION_MISMATCH", "unsupported interaction between different versions of CUDA Dynamic Parallelism"},
    {900, "cudaErrorStreamCaptureUnsupported", "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
    {901, "cudaErrorStreamCaptureInvalidated", "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"},
    {902, "cudaErrorStreamCaptureMerge", "CUDA_ERROR_STREAM_CAPTURE_MERGE", "operation would result in a merge of separate capture sequences"},
    {903, "cudaErrorStreamCaptureUnmatched", "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "capture was not ended in the same stream as it began"},
    {904, "cudaErrorStreamCaptureUnjoined", "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"},
    {905, "cudaErrorStreamCaptureIsolation", "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "dependency created on uncaptured work in another stream"},
    {906, "cudaErrorStreamCaptureImplicit", "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "operation would make the legacy stream depend on a capturing blocking stream"},
    {907, "cudaErrorCapturedEvent", "CUDA_ERROR_CAPTURED_EVENT", "operation not permitted on an event last recorded in a capturing stream"},
    {908, "cudaErrorStreamCaptureWrongThread", "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "attempt to terminate a thread-local capture sequence from another thread"},
    {909, "cudaErrorTimeout", "CUDA_ERROR_TIMEOUT", "wait operation timed out"},
    {910, "cudaErrorGraphExecUpdateFailure", "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "the graph update was not performed because it included changes which violated constraints specific to instantiated graph update"},
    {911, "cudaErrorExternalDevice", "CUDA_ERROR_EXTERNAL_DEVICE", "an async error has occured in external entity outside of CUDA"},
    {912, "cudaErrorInvalidClusterSize", "CUDA_ERROR_INVALID_CLUSTER_SIZE", "a kernel launch error has occurred due to cluster misconfiguration"},
    {913, "cudaErrorFunctionNotLoaded", "CUDA_ERROR_FUNCTION_NOT_LOADED", "the function handle is not loaded when calling an API that requires a loaded function"},
    {914, "cudaErrorInvalidResourceType", "CUDA_ERROR_INVALID_RESOURCE_TYPE", "one or more resources passed in are not valid resource types for the operation"},
    {915, "cudaErrorInvalidResourceConfiguration", "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION", "one or more resources are insufficient or non-applicable for the operation"},
    {999, "cudaErrorUnknown", "CUDA_ERROR_UNKNOWN", "unknown error"},
};

}  // namespace jitc::api
