"""NCCL (libnccl.so.2): see ``api.py`` for how to read it."""

from __future__ import annotations

from jitc.interpose.spec.api import Api, Custom, Function, Local, Op, Sync, unsupported

_BUFFERS = ("send: address", "receive: address", "count: size", "dtype: enum")
_END = ("comm: comm", "stream: stream")

_COMMUNICATOR: tuple[Function, ...] = (
    Local("ncclGetVersion", "out version: int"),
    Local("ncclGetUniqueId", "out id: unique_id"),
    Local("ncclGetErrorString", "result: enum", returns="text"),
    Local("ncclGetLastError", "comm: comm", returns="text"),
    Local("ncclResetDebugInit", returns="none"),
    Sync("ncclCommInitRank", "out comm: comm", "ranks: int", "id: unique_id", "rank: int", ops="communicator_create"),
    Sync(
        "ncclCommInitRankConfig",
        "out comm: comm",
        "ranks: int",
        "id: unique_id",
        "rank: int",
        "inout config: nccl_config",
        ops="communicator_create",
        note="always blocking",
    ),
    Sync(
        "ncclCommInitRankScalable",
        "out comm: comm",
        "ranks: int",
        "rank: int",
        "ids_count: int",
        "inout ids: unique_id",
        "inout config: nccl_config",
        ops="communicator_create",
        note="uses the first id",
    ),
    Sync("ncclCommInitAll", "out comms: comm", "count: int", "in devices: int", ops="communicator_create"),
    Sync(
        "ncclCommSplit",
        "comm: comm",
        "color: int",
        "key: int",
        "out new_comm: comm",
        "inout config: nccl_config",
        ops="communicator_split",
    ),
    Local("ncclCommFinalize", "comm: comm"),
    Op("ncclCommDestroy", "comm: comm", ops="communicator_destroy"),
    Op("ncclCommAbort", "comm: comm", ops="communicator_abort"),
    Local("ncclCommGetAsyncError", "comm: comm", "out error: enum"),
    Local("ncclCommCount", "comm: comm", "out count: int"),
    Local("ncclCommCuDevice", "comm: comm", "out device: int"),
    Local("ncclCommUserRank", "comm: comm", "out rank: int"),
    Local(
        "ncclCommRegister",
        "comm: comm",
        "buffer: address",
        "bytes: size",
        "out registration: registration",
        note="accepted, no effect",
    ),
    Local("ncclCommDeregister", "comm: comm", "registration: registration"),
    Sync("ncclMemAlloc", "out address: address", "bytes: size", ops="allocate"),
    Sync("ncclMemFree", "address: address", ops="device_synchronize free"),
    Custom(
        "ncclRedOpCreatePreMulSum",
        "out reduction: reduction",
        "in scalar: memory[1]",
        "dtype: enum",
        "residence: enum",
        "comm: comm",
    ),
    Local("ncclRedOpDestroy", "reduction: reduction", "comm: comm"),
)

_COLLECTIVE: tuple[Function, ...] = (
    Op("ncclAllReduce", *_BUFFERS, "reduction: reduction", *_END, ops="collective"),
    Op("ncclReduce", *_BUFFERS, "reduction: reduction", "root: int", *_END, ops="collective"),
    Op("ncclReduceScatter", *_BUFFERS, "reduction: reduction", *_END, ops="collective"),
    Op("ncclBcast", "buffer: address", "count: size", "dtype: enum", "root: int", *_END, ops="collective"),
    Op("ncclBroadcast", *_BUFFERS, "root: int", *_END, ops="collective"),
    Op("ncclAllGather", *_BUFFERS, *_END, ops="collective"),
    Op("ncclAlltoAll", *_BUFFERS, *_END, ops="collective"),
    Op("ncclGather", *_BUFFERS, "root: int", *_END, ops="collective", note="sends and receives in one group"),
    Op("ncclScatter", *_BUFFERS, "root: int", *_END, ops="collective", note="sends and receives in one group"),
    Op("ncclSend", "send: address", "count: size", "dtype: enum", "peer: int", *_END, ops="collective"),
    Op("ncclRecv", "receive: address", "count: size", "dtype: enum", "peer: int", *_END, ops="collective"),
    Local("ncclGroupStart"),
    Custom("ncclGroupEnd", ops="collective communicator_create"),
)

_REFUSED = (
    *unsupported(
        "ranks that fail are repaired underneath the program: keep the communicator, or split it",
        "ncclCommGetUniqueId ncclCommGrow ncclCommResume ncclCommRevoke ncclCommShrink ncclCommSuspend",
    ),
    *unsupported(
        "symmetric memory is not made again after a fault: use collectives without it",
        """
    ncclCommWindowDeregister ncclCommWindowRegister ncclDevCommCreate ncclDevCommDestroy
    ncclGetLsaMultimemDevicePointer ncclGetPeerDevicePointer ncclPutSignal ncclSignal ncclWaitSignal
    ncclWinGetUserPtr""",
    ),
    *unsupported(
        "NCCL's memory belongs to the worker, not to the program: leave it out of the program's sums",
        "ncclCommMemStats",
    ),
    *unsupported("groups are not simulated: time them instead", "ncclGroupSimulateEnd"),
)

NCCL = Api("NCCL", "nccl", "libnccl.so.2", "nccl.h", 5, (*_COMMUNICATOR, *_COLLECTIVE, *_REFUSED))
