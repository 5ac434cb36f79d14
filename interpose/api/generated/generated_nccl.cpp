// Generated from interpose/spec by `python -m jitc.interpose.generator`; do not edit.
#include "generated_api.h"
#include "api/common/guard.h"

using namespace jitc::api;

// NCCL: libnccl.so.2
namespace {
constexpr const char* kAdvice0 = "NCCL's memory belongs to the worker, not to the program: leave it out of the program's sums";
constexpr const char* kAdvice1 = "groups are not simulated: time them instead";
constexpr const char* kAdvice2 = "ranks that fail are repaired underneath the program: keep the communicator, or split it";
constexpr const char* kAdvice3 = "symmetric memory is not made again after a fault: use collectives without it";
}  // namespace

JITC_EXPORT int32_t ncclAllGather(uint64_t send, uint64_t receive, size_t count, int32_t dtype, uint64_t comm, uint64_t stream) { return guard_nccl<true>([&] { return ::jitc::api::ncclAllGather(send, receive, count, dtype, comm, stream); }); }
JITC_EXPORT int32_t ncclAllReduce(uint64_t send, uint64_t receive, size_t count, int32_t dtype, int32_t reduction, uint64_t comm, uint64_t stream) { return guard_nccl<true>([&] { return ::jitc::api::ncclAllReduce(send, receive, count, dtype, reduction, comm, stream); }); }
JITC_EXPORT int32_t ncclAlltoAll(uint64_t send, uint64_t receive, size_t count, int32_t dtype, uint64_t comm, uint64_t stream) { return guard_nccl<true>([&] { return ::jitc::api::ncclAlltoAll(send, receive, count, dtype, comm, stream); }); }
JITC_EXPORT int32_t ncclBcast(uint64_t buffer, size_t count, int32_t dtype, int32_t root, uint64_t comm, uint64_t stream) { return guard_nccl<true>([&] { return ::jitc::api::ncclBcast(buffer, count, dtype, root, comm, stream); }); }
JITC_EXPORT int32_t ncclBroadcast(uint64_t send, uint64_t receive, size_t count, int32_t dtype, int32_t root, uint64_t comm, uint64_t stream) { return guard_nccl<true>([&] { return ::jitc::api::ncclBroadcast(send, receive, count, dtype, root, comm, stream); }); }
JITC_EXPORT int32_t ncclCommAbort(uint64_t comm) { return guard_nccl<true>([&] { return ::jitc::api::ncclCommAbort(comm); }); }
JITC_EXPORT int32_t ncclCommCount(uint64_t comm, int32_t* count) { return guard_nccl<false>([&] { return ::jitc::api::ncclCommCount(comm, count); }); }
JITC_EXPORT int32_t ncclCommCuDevice(uint64_t comm, int32_t* device) { return guard_nccl<false>([&] { return ::jitc::api::ncclCommCuDevice(comm, device); }); }
JITC_EXPORT int32_t ncclCommDeregister(uint64_t comm, uint64_t registration) { return guard_nccl<false>([&] { return ::jitc::api::ncclCommDeregister(comm, registration); }); }
JITC_EXPORT int32_t ncclCommDestroy(uint64_t comm) { return guard_nccl<true>([&] { return ::jitc::api::ncclCommDestroy(comm); }); }
JITC_EXPORT int32_t ncclCommFinalize(uint64_t comm) { return guard_nccl<false>([&] { return ::jitc::api::ncclCommFinalize(comm); }); }
JITC_EXPORT int32_t ncclCommGetAsyncError(uint64_t comm, int32_t* error) { return guard_nccl<false>([&] { return ::jitc::api::ncclCommGetAsyncError(comm, error); }); }
JITC_EXPORT int32_t ncclCommInitAll(uint64_t* comms, int32_t count, const int32_t* devices) { return guard_nccl<true>([&] { return ::jitc::api::ncclCommInitAll(comms, count, devices); }); }
JITC_EXPORT int32_t ncclCommInitRank(uint64_t* comm, int32_t ranks, UniqueId id, int32_t rank) { return guard_nccl<true>([&] { return ::jitc::api::ncclCommInitRank(comm, ranks, id, rank); }); }
JITC_EXPORT int32_t ncclCommInitRankConfig(uint64_t* comm, int32_t ranks, UniqueId id, int32_t rank, void* config) { return guard_nccl<true>([&] { return ::jitc::api::ncclCommInitRankConfig(comm, ranks, id, rank, config); }); }
JITC_EXPORT int32_t ncclCommInitRankScalable(uint64_t* comm, int32_t ranks, int32_t rank, int32_t ids_count, UniqueId* ids, void* config) { return guard_nccl<true>([&] { return ::jitc::api::ncclCommInitRankScalable(comm, ranks, rank, ids_count, ids, config); }); }
JITC_EXPORT int32_t ncclCommRegister(uint64_t comm, uint64_t buffer, size_t bytes, uint64_t* registration) { return guard_nccl<false>([&] { return ::jitc::api::ncclCommRegister(comm, buffer, bytes, registration); }); }
JITC_EXPORT int32_t ncclCommSplit(uint64_t comm, int32_t color, int32_t key, uint64_t* new_comm, void* config) { return guard_nccl<true>([&] { return ::jitc::api::ncclCommSplit(comm, color, key, new_comm, config); }); }
JITC_EXPORT int32_t ncclCommUserRank(uint64_t comm, int32_t* rank) { return guard_nccl<false>([&] { return ::jitc::api::ncclCommUserRank(comm, rank); }); }
JITC_EXPORT int32_t ncclGather(uint64_t send, uint64_t receive, size_t count, int32_t dtype, int32_t root, uint64_t comm, uint64_t stream) { return guard_nccl<true>([&] { return ::jitc::api::ncclGather(send, receive, count, dtype, root, comm, stream); }); }
JITC_EXPORT const char* ncclGetErrorString(int32_t result) { return ::jitc::api::ncclGetErrorString(result); }
JITC_EXPORT const char* ncclGetLastError(uint64_t comm) { return ::jitc::api::ncclGetLastError(comm); }
JITC_EXPORT int32_t ncclGetUniqueId(UniqueId* id) { return guard_nccl<false>([&] { return ::jitc::api::ncclGetUniqueId(id); }); }
JITC_EXPORT int32_t ncclGetVersion(int32_t* version) { return guard_nccl<false>([&] { return ::jitc::api::ncclGetVersion(version); }); }
JITC_EXPORT int32_t ncclGroupEnd() { return guard_nccl<true>([&] { return ::jitc::api::ncclGroupEnd(); }); }
JITC_EXPORT int32_t ncclGroupStart() { return guard_nccl<false>([&] { return ::jitc::api::ncclGroupStart(); }); }
JITC_EXPORT int32_t ncclMemAlloc(uint64_t* address, size_t bytes) { return guard_nccl<true>([&] { return ::jitc::api::ncclMemAlloc(address, bytes); }); }
JITC_EXPORT int32_t ncclMemFree(uint64_t address) { return guard_nccl<true>([&] { return ::jitc::api::ncclMemFree(address); }); }
JITC_EXPORT int32_t ncclRecv(uint64_t receive, size_t count, int32_t dtype, int32_t peer, uint64_t comm, uint64_t stream) { return guard_nccl<true>([&] { return ::jitc::api::ncclRecv(receive, count, dtype, peer, comm, stream); }); }
JITC_EXPORT int32_t ncclRedOpCreatePreMulSum(int32_t* reduction, const void* scalar, int32_t dtype, int32_t residence, uint64_t comm) { return guard_nccl<true>([&] { return ::jitc::api::ncclRedOpCreatePreMulSum(reduction, scalar, dtype, residence, comm); }); }
JITC_EXPORT int32_t ncclRedOpDestroy(int32_t reduction, uint64_t comm) { return guard_nccl<false>([&] { return ::jitc::api::ncclRedOpDestroy(reduction, comm); }); }
JITC_EXPORT int32_t ncclReduce(uint64_t send, uint64_t receive, size_t count, int32_t dtype, int32_t reduction, int32_t root, uint64_t comm, uint64_t stream) { return guard_nccl<true>([&] { return ::jitc::api::ncclReduce(send, receive, count, dtype, reduction, root, comm, stream); }); }
JITC_EXPORT int32_t ncclReduceScatter(uint64_t send, uint64_t receive, size_t count, int32_t dtype, int32_t reduction, uint64_t comm, uint64_t stream) { return guard_nccl<true>([&] { return ::jitc::api::ncclReduceScatter(send, receive, count, dtype, reduction, comm, stream); }); }
JITC_EXPORT void ncclResetDebugInit() { return ::jitc::api::ncclResetDebugInit(); }
JITC_EXPORT int32_t ncclScatter(uint64_t send, uint64_t receive, size_t count, int32_t dtype, int32_t root, uint64_t comm, uint64_t stream) { return guard_nccl<true>([&] { return ::jitc::api::ncclScatter(send, receive, count, dtype, root, comm, stream); }); }
JITC_EXPORT int32_t ncclSend(uint64_t send, size_t count, int32_t dtype, int32_t peer, uint64_t comm, uint64_t stream) { return guard_nccl<true>([&] { return ::jitc::api::ncclSend(send, count, dtype, peer, comm, stream); }); }

JITC_EXPORT int32_t ncclCommGetUniqueId() { return refuse_nccl("ncclCommGetUniqueId", kAdvice2); }
JITC_EXPORT int32_t ncclCommGrow() { return refuse_nccl("ncclCommGrow", kAdvice2); }
JITC_EXPORT int32_t ncclCommMemStats() { return refuse_nccl("ncclCommMemStats", kAdvice0); }
JITC_EXPORT int32_t ncclCommResume() { return refuse_nccl("ncclCommResume", kAdvice2); }
JITC_EXPORT int32_t ncclCommRevoke() { return refuse_nccl("ncclCommRevoke", kAdvice2); }
JITC_EXPORT int32_t ncclCommShrink() { return refuse_nccl("ncclCommShrink", kAdvice2); }
JITC_EXPORT int32_t ncclCommSuspend() { return refuse_nccl("ncclCommSuspend", kAdvice2); }
JITC_EXPORT int32_t ncclCommWindowDeregister() { return refuse_nccl("ncclCommWindowDeregister", kAdvice3); }
JITC_EXPORT int32_t ncclCommWindowRegister() { return refuse_nccl("ncclCommWindowRegister", kAdvice3); }
JITC_EXPORT int32_t ncclDevCommCreate() { return refuse_nccl("ncclDevCommCreate", kAdvice3); }
JITC_EXPORT int32_t ncclDevCommDestroy() { return refuse_nccl("ncclDevCommDestroy", kAdvice3); }
JITC_EXPORT int32_t ncclGetLsaMultimemDevicePointer() { return refuse_nccl("ncclGetLsaMultimemDevicePointer", kAdvice3); }
JITC_EXPORT int32_t ncclGetPeerDevicePointer() { return refuse_nccl("ncclGetPeerDevicePointer", kAdvice3); }
JITC_EXPORT int32_t ncclGroupSimulateEnd() { return refuse_nccl("ncclGroupSimulateEnd", kAdvice1); }
JITC_EXPORT int32_t ncclPutSignal() { return refuse_nccl("ncclPutSignal", kAdvice3); }
JITC_EXPORT int32_t ncclSignal() { return refuse_nccl("ncclSignal", kAdvice3); }
JITC_EXPORT int32_t ncclWaitSignal() { return refuse_nccl("ncclWaitSignal", kAdvice3); }
JITC_EXPORT int32_t ncclWinGetUserPtr() { return refuse_nccl("ncclWinGetUserPtr", kAdvice3); }
