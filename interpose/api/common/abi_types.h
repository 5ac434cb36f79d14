// Structures of the C ABI that cross the API by value or are filled in as a whole; and numbers of CUDA that
// several sources need.
//
// Included by the generated wrappers and the API layer. Promises: each type has the size and layout of
// NVIDIA's own, of CUDA 13 and NCCL 2.28 (tests/unit/interpose/api/check proves it); NVIDIA's headers are not
// needed.
#pragma once
#include <cstddef>
#include <cstdint>

namespace jitc::api {

struct Dim3 {
  uint32_t x, y, z;
};
struct UniqueId {
  uint8_t bytes[128];
};
struct Uuid {
  uint8_t bytes[16];
};

struct ChannelDesc {
  int32_t x, y, z, w, kind;
};

struct PointerAttributes {
  int32_t type;  // MemoryType
  int32_t device;
  void* device_pointer;
  void* host_pointer;
  int64_t reserved[8];
};
enum MemoryType : int32_t { kUnregistered = 0, kHost = 1, kDevice = 2 };

/// cudaPitchedPtr, cudaMemcpy3DParms.
struct PitchedPointer {
  void* address;
  size_t pitch, width, height;
};
struct CopyParameters3d {
  const void* source_array;
  size_t source_at[3];  // x in bytes, y, z
  PitchedPointer source;
  const void* destination_array;
  size_t destination_at[3];
  PitchedPointer destination;
  size_t width, height, depth;  // width in bytes
  int32_t kind;
};

/// CUmemLocation, CUmemAccessDesc, CUmemAllocationProp.
struct MemoryLocation {
  int32_t type, id;
};
struct MemoryAccess {
  MemoryLocation location;
  int32_t flags;
};
struct AllocationProp {
  int32_t type, handle_types;
  MemoryLocation location;
  void* metadata;
  uint8_t compression, rdma;
  uint16_t usage;
  uint8_t reserved[4];
};

/// CUdevice_attribute, cudaDeviceAttr: those used by name here.
enum DeviceAttribute : int32_t {
  kMaxThreadsPerBlock = 1,
  kMaxBlockX = 2,  // y and z follow
  kMaxGridX = 5,   // y and z follow
  kMultiprocessors = 16,
  kPciBus = 33,
  kPciDevice = 34,
  kPciDomain = 50,
  kCapabilityMajor = 75,
  kCapabilityMinor = 76,
};

/// CUlaunchAttributeID, cudaLaunchAttributeID, cudaStreamAttrID.
enum LaunchAttributeId : uint32_t {
  kIgnore = 0,
  kAccessPolicyWindow = 1,
  kCooperative = 2,
  kSynchronizationPolicy = 3,
  kClusterDimension = 4,
  kClusterSchedulingPolicy = 5,
  kProgrammaticStreamSerialization = 6,
  kLaunchPriority = 8,
  kMemorySyncDomainMap = 9,
  kMemorySyncDomain = 10,
  kPreferredClusterDimension = 11,
  kPreferredSharedCarveout = 14,
  kNvlinkCentricScheduling = 16,
};

struct FuncAttributes {
  size_t shared_bytes, const_bytes, local_bytes;
  int32_t max_threads, registers, ptx_version, binary_version, cache_mode, max_dynamic_shared, carveout;
  int32_t cluster_size_set, cluster_width, cluster_height, cluster_depth, cluster_policy, cluster_size_free;
  int32_t reserved[16];
};

/// cudaLaunchConfig_t and CUlaunchConfig; their attributes are ops::LaunchAttribute records.
struct RuntimeLaunchConfig {
  Dim3 grid, block;
  size_t shared;
  uint64_t stream;
  const void* attributes;
  uint32_t count;
};
struct DriverLaunchConfig {
  Dim3 grid, block;
  uint32_t shared;
  uint64_t stream;
  const void* attributes;
  uint32_t count;
};

struct Algorithm {
  uint64_t data[8];
};
struct Heuristic {
  Algorithm algorithm;
  size_t workspace;
  int32_t state;
  float waves;
  int32_t reserved[4];
};

}  // namespace jitc::api
