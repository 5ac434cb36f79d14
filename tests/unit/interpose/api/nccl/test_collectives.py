"""NCCL: communicators, collectives, groups, reductions."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint64, c_void_p

import pytest
from api_rig import Cuda, Recorded
from interpose_types import CollectiveItem, UniqueId

INVALID_ARGUMENT, FLOAT, HALF = 4, 7, 6
KINDS = ("all_reduce", "broadcast", "reduce", "all_gather", "reduce_scatter", "all_to_all", "send", "receive")


def communicator(cuda: Cuda, ranks: int = 2, rank: int = 0) -> int:
    unique = UniqueId()
    cuda.ok("ncclGetUniqueId", byref(unique))
    return cuda.make("ncclCommInitRank", ranks, unique, rank)


def items(op: Recorded) -> list[CollectiveItem]:
    size = ctypes.sizeof(CollectiveItem)
    assert op.name == "collective" and len(op.payload) == op.fields["count"] * size
    return [CollectiveItem.from_buffer_copy(op.payload[i : i + size]) for i in range(0, len(op.payload), size)]


def test_unique_ids_differ_and_are_passed_on(cuda: Cuda) -> None:
    first, second = UniqueId(), UniqueId()
    cuda.ok("ncclGetUniqueId", byref(first))
    cuda.ok("ncclGetUniqueId", byref(second))
    assert bytes(first.bytes) != bytes(second.bytes)
    comm = cuda.make("ncclCommInitRankConfig", 4, first, 3, c_void_p(0))
    (create,) = cuda.take()
    assert create.fields == {"handle": comm, "ranks": 4, "rank": 3, "unique_id": bytes(first.bytes)}
    count, rank, device, error = c_int(), c_int(), c_int(-1), c_int(-1)
    cuda.ok("ncclCommCount", c_uint64(comm), byref(count))
    cuda.ok("ncclCommUserRank", c_uint64(comm), byref(rank))
    cuda.ok("ncclCommCuDevice", c_uint64(comm), byref(device))
    cuda.ok("ncclCommGetAsyncError", c_uint64(comm), byref(error))
    assert (count.value, rank.value, device.value, error.value) == (4, 3, 0, 0)


def test_a_failed_join_gives_no_communicator(cuda: Cuda) -> None:
    cuda.jitc_fake_next_status(0x0501, 999)
    out = c_uint64(5)
    assert cuda.ncclCommInitRank(byref(out), 2, UniqueId(), 0) == 1
    assert out.value == 0


@pytest.mark.parametrize(("status", "result"), [(911, 6), (1, 4), (999, 1)])
def test_why_a_join_failed_is_told(cuda: Cuda, status: int, result: int) -> None:
    cuda.ncclGetLastError.restype = c_char_p
    comm, out = communicator(cuda), c_uint64()

    def create() -> int:
        return cuda.ncclCommInitRank(byref(out), 2, UniqueId(), 0)

    def split() -> int:
        return cuda.ncclCommSplit(c_uint64(comm), 0, 0, byref(out), c_void_p(0))

    for op, name, call in ((0x0501, "ncclCommInitRank", create), (0x0502, "ncclCommSplit", split)):
        out.value = 5
        cuda.jitc_fake_next_status(op, status)
        assert call() == result
        assert out.value == 0
        assert cuda.ncclGetLastError(c_uint64(0)) == f"{name}: rank 1 is gone".encode()


def test_why_a_join_in_a_group_failed_is_told(cuda: Cuda) -> None:
    cuda.ncclGetLastError.restype = c_char_p
    cuda.jitc_fake_next_status(0x0501, 911)
    first, second = c_uint64(), c_uint64()
    cuda.ok("ncclGroupStart")
    cuda.ok("ncclCommInitRank", byref(first), 2, UniqueId(), 0)
    cuda.ok("ncclCommInitRank", byref(second), 2, UniqueId(), 1)
    assert cuda.ncclGroupEnd() == 6
    assert sorted([first.value > 0, second.value > 0]) == [False, True]
    assert cuda.ncclGetLastError(c_uint64(0)) == b"ncclCommInitRank: rank 1 is gone"


def test_an_end_by_another_rank_is_the_communicators_error(cuda: Cuda) -> None:
    comm, error = communicator(cuda), c_int()
    for over, told in ((911, 6), (46, 1), (0, 0)):
        cuda.jitc_fake_over(over)
        cuda.ok("ncclCommGetAsyncError", c_uint64(comm), byref(error))
        assert error.value == told


def test_an_all_reduce_is_one_op_with_one_item(cuda: Cuda) -> None:
    comm, a, b = communicator(cuda), cuda.malloc(4096), cuda.malloc(4096)
    stream = cuda.make("cudaStreamCreateWithFlags", 1)
    cuda.take()
    cuda.ok("ncclAllReduce", c_uint64(a), c_uint64(b), c_size_t(1024), FLOAT, 4, c_uint64(comm), c_uint64(stream))
    (op,) = cuda.take()
    (item,) = items(op)
    assert op.stream == stream
    assert (item.comm, KINDS[item.kind], item.dtype, item.reduction, item.peer) == (comm, "all_reduce", FLOAT, 4, -1)
    assert (item.count, item.send, item.receive) == (1024, a, b)


def test_wrong_arguments_fail_the_call_and_not_the_device(cuda: Cuda) -> None:
    comm, a = communicator(cuda), cuda.malloc(4096)
    cuda.take()
    stream = c_uint64(0)

    def all_reduce(address: int, count: int, dtype: int, op: int, on: int) -> int:
        result = cuda.ncclAllReduce(c_uint64(address), c_uint64(a), c_size_t(count), dtype, op, c_uint64(on), stream)
        return int(result)

    assert all_reduce(a, 1025, FLOAT, 0, comm) == INVALID_ARGUMENT
    assert all_reduce(0x1000, 4, FLOAT, 0, comm) == INVALID_ARGUMENT
    assert all_reduce(a, 4, 12, 0, comm) == INVALID_ARGUMENT
    assert all_reduce(a, 4, FLOAT, 77, comm) == INVALID_ARGUMENT
    assert all_reduce(a, 4, FLOAT, 0, comm + 256) == INVALID_ARGUMENT
    assert cuda.ncclSend(c_uint64(a), c_size_t(4), FLOAT, 2, c_uint64(comm), stream) == INVALID_ARGUMENT
    assert cuda.take() == []


def test_floats_of_8_bits_move_and_are_added_by_a_gpu_only(cuda: Cuda, gpu: Cuda) -> None:
    for library, result in ((cuda, INVALID_ARGUMENT), (gpu, 0)):
        comm, a = communicator(library), library.malloc(4096)
        end = (c_uint64(comm), c_uint64(0))
        library.ok("ncclAllGather", c_uint64(a), c_uint64(a + 2048), c_size_t(1024), 10, *end)
        assert library.ncclAllReduce(c_uint64(a), c_uint64(a), c_size_t(4096), 11, 0, *end) == result
        assert library.ncclAllReduce(c_uint64(a), c_uint64(a), c_size_t(4097), 11, 0, *end) == INVALID_ARGUMENT


def test_extents_follow_the_kind(cuda: Cuda) -> None:
    comm, a = communicator(cuda, ranks=4), cuda.malloc(4096)
    small = cuda.malloc(1024)
    cuda.take()
    args = (c_size_t(256), FLOAT)
    end = (c_uint64(comm), c_uint64(0))
    cuda.ok("ncclAllGather", c_uint64(small), c_uint64(a), *args, *end)
    cuda.ok("ncclReduceScatter", c_uint64(a), c_uint64(small), *args, 0, *end)
    assert cuda.ncclAllGather(c_uint64(a), c_uint64(small + 4), *args, *end) == INVALID_ARGUMENT
    # Only the root reads what is broadcast; the others' send address means nothing.
    cuda.ok("ncclBroadcast", c_uint64(0), c_uint64(small), *args, 3, *end)
    assert [KINDS[item.kind] for op in cuda.take() for item in items(op)] == [
        "all_gather",
        "reduce_scatter",
        "broadcast",
    ]


def test_a_group_is_one_op_and_nests(cuda: Cuda) -> None:
    comm, a = communicator(cuda), cuda.malloc(4096)
    cuda.take()
    cuda.ok("ncclGroupStart")
    cuda.ok("ncclSend", c_uint64(a), c_size_t(4), FLOAT, 1, c_uint64(comm), c_uint64(0))
    cuda.ok("ncclGroupStart")
    cuda.ok("ncclRecv", c_uint64(a + 64), c_size_t(4), FLOAT, 1, c_uint64(comm), c_uint64(0))
    cuda.ok("ncclGroupEnd")
    assert cuda.take() == []
    cuda.ok("ncclGroupEnd")
    (op,) = cuda.take()
    assert [KINDS[item.kind] for item in items(op)] == ["send", "receive"]
    assert cuda.ncclGroupEnd() == 5


def test_a_group_on_several_streams_starts_and_ends_on_all_of_them(cuda: Cuda) -> None:
    comm, a = communicator(cuda), cuda.malloc(4096)
    first, second = (cuda.make("cudaStreamCreateWithFlags", 1) for _ in range(2))
    cuda.take()
    cuda.ok("ncclGroupStart")
    for stream in (first, second, first):
        cuda.ok("ncclSend", c_uint64(a), c_size_t(4), FLOAT, 1, c_uint64(comm), c_uint64(stream))
    cuda.ok("ncclGroupEnd")
    seen = cuda.take()
    assert [(op.name, op.stream) for op in seen[1:-1]] == [
        ("event_record", second),
        ("event_wait", first),
        ("collective", first),
        ("event_record", first),
        ("event_wait", second),
    ]
    assert len(items(seen[3])) == 3
    assert (seen[0].name, seen[-1].name) == ("event_create", "event_destroy")
    assert {op.fields.get("event", op.fields.get("handle")) for op in seen if op.name != "collective"} == {
        seen[0].fields["handle"]
    }


def test_a_group_with_an_error_starts_nothing(cuda: Cuda) -> None:
    comm, a = communicator(cuda), cuda.malloc(4096)
    cuda.take()
    cuda.ok("ncclGroupStart")
    cuda.ok("ncclSend", c_uint64(a), c_size_t(4), FLOAT, 1, c_uint64(comm), c_uint64(0))
    assert cuda.ncclRecv(c_uint64(0), c_size_t(4), FLOAT, 1, c_uint64(comm), c_uint64(0)) == INVALID_ARGUMENT
    assert cuda.ncclGroupEnd() == INVALID_ARGUMENT
    assert cuda.take() == []


def test_communicators_of_all_gpus_are_joined_together(cuda: Cuda) -> None:
    comms = (c_uint64 * 2)()
    cuda.ok("ncclCommInitAll", comms, 2, c_void_p(0))
    created = sorted((op.fields["rank"], op.fields["handle"]) for op in cuda.take() if op.name == "communicator_create")
    assert created == [(0, comms[0]), (1, comms[1])]


def test_split_and_destroy(cuda: Cuda) -> None:
    comm = communicator(cuda, ranks=4)
    part, none = c_uint64(), c_uint64(1)
    cuda.ok("ncclCommSplit", c_uint64(comm), 1, 5, byref(part), c_void_p(0))
    cuda.ok("ncclCommSplit", c_uint64(comm), -1, 0, byref(none), c_void_p(0))
    assert part.value and none.value == 0
    count = c_int()
    cuda.ok("ncclCommCount", part, byref(count))
    assert count.value == 2
    cuda.ok("ncclCommDestroy", part)
    assert cuda.ncclCommDestroy(part) == INVALID_ARGUMENT
    assert [op.name for op in cuda.take()][-3:] == ["communicator_split", "communicator_split", "communicator_destroy"]


def test_an_abort_is_answered(cuda: Cuda) -> None:
    """So nothing is under way when the call returns. It cannot fail: without a worker there is no communicator."""
    comm = communicator(cuda)
    cuda.take()
    cuda.jitc_fake_next_status(0x0505, 46)
    cuda.ok("ncclCommAbort", c_uint64(comm))
    (op,) = cuda.take()
    assert (op.name, op.fields) == ("communicator_abort", {"handle": comm})
    assert cuda.ncclCommAbort(c_uint64(comm)) == INVALID_ARGUMENT
    cuda.ok("ncclCommAbort", c_uint64(0))


def test_a_premultiplied_sum_carries_its_factor(cuda: Cuda) -> None:
    comm, a = communicator(cuda), cuda.malloc(4096)
    cuda.take()
    on_host, on_device, factor = c_int(), c_int(), c_float(0.25)
    cuda.ok("ncclRedOpCreatePreMulSum", byref(on_host), byref(factor), FLOAT, 1, c_uint64(comm))
    cuda.ok("ncclRedOpCreatePreMulSum", byref(on_device), c_void_p(a), FLOAT, 0, c_uint64(comm))
    for op in (on_host, on_device):
        cuda.ok("ncclAllReduce", c_uint64(a), c_uint64(a), c_size_t(4), FLOAT, op, c_uint64(comm), c_uint64(0))
    seen = [(item.reduction, item.scale, item.scale_address) for op in cuda.take() for item in items(op)]
    assert seen == [(5, 0.25, 0), (5, 1.0, a)]
    cuda.ok("ncclRedOpDestroy", on_host, c_uint64(comm))
    assert cuda.ncclRedOpDestroy(on_host, c_uint64(comm)) == INVALID_ARGUMENT


def test_version_and_texts(cuda: Cuda) -> None:
    version = c_int()
    cuda.ok("ncclGetVersion", byref(version))
    cuda.ncclGetErrorString.restype = ctypes.c_char_p
    assert (
        version.value == 22809
        and cuda.ncclGetErrorString(4) == b"invalid argument (run with NCCL_DEBUG=WARN for details)"
    )


def test_a_collective_of_nothing_is_no_op(cuda: Cuda) -> None:
    comm = communicator(cuda)
    cuda.take()
    cuda.ok("ncclAllReduce", c_uint64(0), c_uint64(0), c_size_t(0), FLOAT, 0, c_uint64(comm), c_uint64(0))
    assert cuda.take() == []
