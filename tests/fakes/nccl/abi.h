// What of nccl.h the fake NCCL uses; tests/fakes/check proves it equal to the real header where that is
// installed.
#pragma once
#include <climits>
#include <cstddef>
#include <cstdint>

namespace jitc::fakes {

using ncclComm_t = struct CommunicatorHandle*;
using cudaStream_t = struct CudaStreamHandle*;

struct ncclUniqueId {
  char internal[128];
};
struct ncclConfig_t {
  size_t size;
  unsigned magic, version;
  int blocking, cgaClusterSize, minCTAs, maxCTAs;
  const char* netName;
  int splitShare, trafficClass;
  const char* commName;
  int collnetEnable, CTAPolicy, shrinkShare, nvlsCTAs, nChannelsPerNetPeer, nvlinkCentricSched;
};
constexpr unsigned kConfigMagic = 0xcafebeef;
constexpr int kUndefined = INT_MIN, kNoColor = -1;

enum NcclResult : int {
  kNcclSuccess,
  kNcclUnhandledCudaError,
  kNcclSystemError,
  kNcclInternalError,
  kNcclInvalidArgument,
  kNcclInvalidUsage,
  kNcclRemoteError,
  kNcclInProgress,
};
enum DataType : int {
  kInt8,
  kUint8,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kFloat16,
  kFloat32,
  kFloat64,
  kBfloat16,
  kFloat8e4m3,
  kFloat8e5m2
};
enum ReduceOp : int { kSum, kProd, kMax, kMin, kAvg, kFirstOwnOp };

}  // namespace jitc::fakes
