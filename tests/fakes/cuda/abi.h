// What of cuda.h the fake driver uses, declared here because the fakes must build without NVIDIA's headers.
// tests/fakes/check proves it equal to the real header where that is installed.
#pragma once
#include <cstddef>
#include <cstdint>

namespace jitc::fakes {

using CUdeviceptr = unsigned long long;
using CUdevice = int;
using CUcontext = struct ContextHandle*;
using CUstream = struct StreamHandle*;
using CUevent = struct EventHandle*;
using CUmodule = struct ModuleHandle*;
using CUfunction = struct FunctionHandle*;
using CUgraph = struct GraphHandle*;
using CUgraphExec = struct GraphExecHandle*;
using CUgraphNode = struct GraphNodeHandle*;
using CUhostFn = void (*)(void*);
using CUoccupancyB2DSize = size_t (*)(int);

struct CUuuid {
  char bytes[16];
};
struct CUmemLocation {
  int type, id;
};
struct CUmemAllocationProp {
  int type, requestedHandleTypes;
  CUmemLocation location;
  void* win32HandleMetaData;
  unsigned char compressionType, gpuDirectRDMACapable;
  unsigned short usage;
  unsigned char reserved[4];
};
struct CUmemAccessDesc {
  CUmemLocation location;
  int flags;
};
struct CUDA_MEMCPY2D {
  size_t srcXInBytes, srcY;
  int srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  void* srcArray;
  size_t srcPitch;
  size_t dstXInBytes, dstY;
  int dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  void* dstArray;
  size_t dstPitch;
  size_t WidthInBytes, Height;
};
struct CUlaunchAttribute {
  int id;
  char pad[4];
  char value[64];
};
struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute* attrs;
  unsigned numAttrs;
};

enum Result : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinary = 209,
  kEccUncorrectable = 214,
  kUnsupportedLimit = 215,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchTimeout = 702,
  kContextDestroyed = 709,
  kAssert = 710,
  kAlreadyRegistered = 712,
  kNotRegistered = 713,
  kLaunchFailed = 719,
  kCooperativeTooLarge = 720,
  kNotPermitted = 800,
  kNotSupported = 801,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
  kCaptureMerge = 902,
  kCaptureUnmatched = 903,
  kCaptureUnjoined = 904,
  kCaptureIsolation = 905,
  kCaptureImplicit = 906,
  kCapturedEvent = 907,
  kCaptureWrongThread = 908,
  kInvalidClusterSize = 912,
};

}  // namespace jitc::fakes
