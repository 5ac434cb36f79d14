// Generated from interpose/spec by `python -m jitc.interpose.generator`; do not edit.
#include <cstddef>
#include <cuda_runtime_api.h>

static_assert(sizeof(cudaDeviceProp) == 1008);
static_assert(offsetof(cudaDeviceProp, name) == 0);
static_assert(offsetof(cudaDeviceProp, uuid) == 256);
static_assert(offsetof(cudaDeviceProp, totalGlobalMem) == 288);
static_assert(offsetof(cudaDeviceProp, sharedMemPerBlock) == 296 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->sharedMemPerBlock) == 8);
static_assert(offsetof(cudaDeviceProp, regsPerBlock) == 304 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->regsPerBlock) == 4);
static_assert(offsetof(cudaDeviceProp, warpSize) == 308 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->warpSize) == 4);
static_assert(offsetof(cudaDeviceProp, memPitch) == 312 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->memPitch) == 8);
static_assert(offsetof(cudaDeviceProp, maxThreadsPerBlock) == 320 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->maxThreadsPerBlock) == 4);
static_assert(offsetof(cudaDeviceProp, maxThreadsDim[0]) == 324 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->maxThreadsDim[0]) == 4);
static_assert(offsetof(cudaDeviceProp, maxThreadsDim[1]) == 328 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->maxThreadsDim[1]) == 4);
static_assert(offsetof(cudaDeviceProp, maxThreadsDim[2]) == 332 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->maxThreadsDim[2]) == 4);
static_assert(offsetof(cudaDeviceProp, maxGridSize[0]) == 336 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->maxGridSize[0]) == 4);
static_assert(offsetof(cudaDeviceProp, maxGridSize[1]) == 340 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->maxGridSize[1]) == 4);
static_assert(offsetof(cudaDeviceProp, maxGridSize[2]) == 344 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->maxGridSize[2]) == 4);
static_assert(offsetof(cudaDeviceProp, totalConstMem) == 352 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->totalConstMem) == 8);
static_assert(offsetof(cudaDeviceProp, major) == 360 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->major) == 4);
static_assert(offsetof(cudaDeviceProp, minor) == 364 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->minor) == 4);
static_assert(offsetof(cudaDeviceProp, textureAlignment) == 368 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->textureAlignment) == 8);
static_assert(offsetof(cudaDeviceProp, texturePitchAlignment) == 376 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->texturePitchAlignment) == 8);
static_assert(offsetof(cudaDeviceProp, multiProcessorCount) == 384 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->multiProcessorCount) == 4);
static_assert(offsetof(cudaDeviceProp, canMapHostMemory) == 392 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->canMapHostMemory) == 4);
static_assert(offsetof(cudaDeviceProp, surfaceAlignment) == 552 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->surfaceAlignment) == 8);
static_assert(offsetof(cudaDeviceProp, concurrentKernels) == 560 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->concurrentKernels) == 4);
static_assert(offsetof(cudaDeviceProp, pciBusID) == 568 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->pciBusID) == 4);
static_assert(offsetof(cudaDeviceProp, asyncEngineCount) == 584 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->asyncEngineCount) == 4);
static_assert(offsetof(cudaDeviceProp, unifiedAddressing) == 588 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->unifiedAddressing) == 4);
static_assert(offsetof(cudaDeviceProp, memoryBusWidth) == 592 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->memoryBusWidth) == 4);
static_assert(offsetof(cudaDeviceProp, l2CacheSize) == 596 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->l2CacheSize) == 4);
static_assert(offsetof(cudaDeviceProp, maxThreadsPerMultiProcessor) == 604 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->maxThreadsPerMultiProcessor) == 4);
static_assert(offsetof(cudaDeviceProp, streamPrioritiesSupported) == 608 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->streamPrioritiesSupported) == 4);
static_assert(offsetof(cudaDeviceProp, globalL1CacheSupported) == 612 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->globalL1CacheSupported) == 4);
static_assert(offsetof(cudaDeviceProp, localL1CacheSupported) == 616 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->localL1CacheSupported) == 4);
static_assert(offsetof(cudaDeviceProp, sharedMemPerMultiprocessor) == 624 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->sharedMemPerMultiprocessor) == 8);
static_assert(offsetof(cudaDeviceProp, regsPerMultiprocessor) == 632 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->regsPerMultiprocessor) == 4);
static_assert(offsetof(cudaDeviceProp, computePreemptionSupported) == 660 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->computePreemptionSupported) == 4);
static_assert(offsetof(cudaDeviceProp, cooperativeLaunch) == 668 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->cooperativeLaunch) == 4);
static_assert(offsetof(cudaDeviceProp, sharedMemPerBlockOptin) == 672 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->sharedMemPerBlockOptin) == 8);
static_assert(offsetof(cudaDeviceProp, maxBlocksPerMultiProcessor) == 688 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->maxBlocksPerMultiProcessor) == 4);
static_assert(offsetof(cudaDeviceProp, reservedSharedMemPerBlock) == 696 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->reservedSharedMemPerBlock) == 8);
static_assert(offsetof(cudaDeviceProp, hostRegisterSupported) == 704 && sizeof(static_cast<cudaDeviceProp*>(nullptr)->hostRegisterSupported) == 4);
