// libnccl.so.2 as the cuda back end uses it: opened at run time, own declarations of its C interface.
//
// The product builds without NCCL's headers; tests/unit/device/cuda/check proves that these declarations fit
// them. Promise: one table per path and process, never unloaded (NCCL keeps threads).
// Called by: Communicator (creation, abort), collective_call.cpp (collectives).
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

struct CUstream_st;

namespace jitc::cuda {

/// ncclResult_t. A non-blocking communicator answers kInProgress while NCCL's own threads work.
enum NcclResult : int {
  kNcclSuccess = 0,
  kNcclUnhandledCudaError = 1,
  kNcclSystemError = 2,
  kNcclInternalError = 3,
  kNcclInvalidArgument = 4,
  kNcclInvalidUsage = 5,
  kNcclRemoteError = 6,
  kNcclInProgress = 7,
};
enum NcclResidence : int { kNcclScalarDevice = 0, kNcclScalarHost = 1 };

struct NcclCommunicator;  // NCCL's own
using NcclComm = NcclCommunicator*;
using NcclStream = CUstream_st*;

struct NcclUniqueId {
  char internal[128];
};

/// ncclConfig_t as of 2.18, which every later version accepts: NCCL copies `size` bytes and ignores fields
/// newer than `version`.
struct NcclConfig {
  static constexpr int kUndefined = INT32_MIN;
  size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = 21800;
  int blocking = kUndefined;
  int cga_cluster_size = kUndefined, min_ctas = kUndefined, max_ctas = kUndefined;
  const char* net_name = nullptr;
  int split_share = kUndefined;
  int later = kUndefined;  // a field of 2.25 lies in the former padding
};

struct Nccl {
  static constexpr int kOldest = 21800;
  /// Opens the library; nullptr with the reason. The same path gives the same table.
  static const Nccl* open(const std::string& path, std::string& error);

  int version = 0;
  int (*get_version)(int*);
  int (*get_unique_id)(NcclUniqueId*);
  int (*init_rank)(NcclComm*, int ranks, NcclUniqueId, int rank, NcclConfig*);
  int (*async_error)(NcclComm, int*);
  int (*finalize)(NcclComm);
  int (*destroy)(NcclComm);
  int (*abort)(NcclComm);
  const char* (*error_string)(int);
  const char* (*last_error)(NcclComm);
  int (*group_start)();
  int (*group_end)();
  int (*premul_create)(int*, void*, int dtype, int residence, NcclComm);
  int (*premul_destroy)(int, NcclComm);
  int (*all_reduce)(const void*, void*, size_t, int dtype, int reduction, NcclComm, NcclStream);
  int (*reduce)(const void*, void*, size_t, int dtype, int reduction, int root, NcclComm, NcclStream);
  int (*reduce_scatter)(const void*, void*, size_t, int dtype, int reduction, NcclComm, NcclStream);
  int (*broadcast)(const void*, void*, size_t, int dtype, int root, NcclComm, NcclStream);
  int (*all_gather)(const void*, void*, size_t, int dtype, NcclComm, NcclStream);
  int (*send)(const void*, size_t, int dtype, int peer, NcclComm, NcclStream);
  int (*receive)(void*, size_t, int dtype, int peer, NcclComm, NcclStream);

  /// Returns NCCL's description of an error. comm may be null.
  std::string explain(int result, NcclComm comm) const;

 private:
  Nccl() = default;
  bool load(void* library, std::string& error);
};

inline bool unhealthy(int result) { return result != kNcclSuccess && result != kNcclInProgress; }
/// Throws an OpError for an unhealthy result.
void refuse_nccl(const Nccl& nccl, int result, NcclComm comm);

}  // namespace jitc::cuda
