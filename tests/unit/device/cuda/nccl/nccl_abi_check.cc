// Compiles only when device/cuda/nccl/nccl.h declares what NVIDIA's nccl.h declares (2.18 and later).
#include <cuda_runtime_api.h>
#include <nccl.h>

#include "device/cuda/nccl/nccl.h"
#include "same_abi.h"

namespace jitc::cuda {

#define SAME(member, function)                                                                       \
  static_assert(SameAbi<std::remove_pointer_t<decltype(Nccl::member)>, decltype(::function)>::value, \
                #function)

SAME(get_version, ncclGetVersion);
SAME(get_unique_id, ncclGetUniqueId);
SAME(init_rank, ncclCommInitRankConfig);
SAME(async_error, ncclCommGetAsyncError);
SAME(finalize, ncclCommFinalize);
SAME(destroy, ncclCommDestroy);
SAME(abort, ncclCommAbort);
SAME(error_string, ncclGetErrorString);
SAME(last_error, ncclGetLastError);
SAME(group_start, ncclGroupStart);
SAME(group_end, ncclGroupEnd);
SAME(premul_create, ncclRedOpCreatePreMulSum);
SAME(premul_destroy, ncclRedOpDestroy);
SAME(all_reduce, ncclAllReduce);
SAME(reduce, ncclReduce);
SAME(reduce_scatter, ncclReduceScatter);
SAME(broadcast, ncclBroadcast);
SAME(all_gather, ncclAllGather);
SAME(send, ncclSend);
SAME(receive, ncclRecv);

static_assert(int{kNcclSuccess} == int{ncclSuccess});
static_assert(int{kNcclUnhandledCudaError} == int{ncclUnhandledCudaError});
static_assert(int{kNcclSystemError} == int{ncclSystemError});
static_assert(int{kNcclInternalError} == int{ncclInternalError});
static_assert(int{kNcclInvalidArgument} == int{ncclInvalidArgument});
static_assert(int{kNcclInvalidUsage} == int{ncclInvalidUsage});
static_assert(int{kNcclRemoteError} == int{ncclRemoteError});
static_assert(int{kNcclInProgress} == int{ncclInProgress});
static_assert(int{kNcclScalarDevice} == int{ncclScalarDevice});
static_assert(int{kNcclScalarHost} == int{ncclScalarHostImmediate});
static_assert(sizeof(NcclUniqueId) == sizeof(::ncclUniqueId) && NCCL_UNIQUE_ID_BYTES == 128);
static_assert(offsetof(NcclConfig, magic) == offsetof(ncclConfig_t, magic) &&
              offsetof(NcclConfig, version) == offsetof(ncclConfig_t, version) &&
              offsetof(NcclConfig, blocking) == offsetof(ncclConfig_t, blocking) &&
              offsetof(NcclConfig, cga_cluster_size) == offsetof(ncclConfig_t, cgaClusterSize) &&
              offsetof(NcclConfig, min_ctas) == offsetof(ncclConfig_t, minCTAs) &&
              offsetof(NcclConfig, max_ctas) == offsetof(ncclConfig_t, maxCTAs) &&
              offsetof(NcclConfig, net_name) == offsetof(ncclConfig_t, netName) &&
              offsetof(NcclConfig, split_share) == offsetof(ncclConfig_t, splitShare) &&
              sizeof(NcclConfig) <= sizeof(ncclConfig_t));
constexpr ncclConfig_t kTheirs = NCCL_CONFIG_INITIALIZER;
static_assert(NcclConfig{}.magic == kTheirs.magic && NcclConfig{}.blocking == kTheirs.blocking &&
              NcclConfig{}.split_share == kTheirs.splitShare && NcclConfig{}.net_name == kTheirs.netName);
static_assert(ncclSum == 0 && ncclProd == 1 && ncclMax == 2 && ncclMin == 3 && ncclAvg == 4);

}  // namespace jitc::cuda
