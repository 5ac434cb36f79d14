"""The C interface for client_shim: boundaries, phases, operator calls."""

from __future__ import annotations

import ctypes
import threading
from ctypes import CFUNCTYPE, byref, c_int, c_size_t, c_uint64, c_void_p

from api_rig import Cuda, Recorded
from interpose_types import LiveBlock, Reply

#: kFlagOtherThread of jitc/shared_steps.h.
OTHER_THREAD = 1 << 3
#: Bytes of a block that lies in no slab (small_blocks.h).
LARGE = 2 << 20


def test_the_device_kind_is_told(cuda: Cuda) -> None:
    assert cuda.jitc_device_kind() == 1


def test_where_cudnn_is_served(cuda: Cuda, gpu: Cuda) -> None:
    assert [cuda.jitc_serves_cudnn(device) for device in (-1, 0, 1, 2)] == [0, 0, 0, 0]
    assert [gpu.jitc_serves_cudnn(device) for device in (-1, 0, 1, 2)] == [0, 1, 1, 0]


def live_of(boundary: Recorded) -> list[LiveBlock]:
    return [LiveBlock.from_buffer_copy(boundary.payload[i : i + 24]) for i in range(0, len(boundary.payload), 24)]


def live_in(boundary: Recorded, address: int) -> list[tuple[int, int]]:
    """Those in 4096 bytes there: other tests have left memory that nobody follows."""
    live = live_of(boundary)
    return [(block.address, block.bytes) for block in live if address <= block.address < address + 4096]


def test_steps_and_boundaries_are_those_of_the_process(cuda: Cuda) -> None:
    a = cuda.malloc(4096)
    cuda.ok("cudaSetDevice", 1)
    b = cuda.malloc(4096)
    for address in (a, b):
        cuda.jitc_follow_memory(c_uint64(address), c_size_t(4096), 1)
    cuda.take()
    blocks = (LiveBlock * 3)(LiveBlock(a + 512, 64, 9), LiveBlock(b, 128, 4), LiveBlock(a, 256, 2))
    numbers = []
    for _ in range(2):
        cuda.jitc_step_begin()
        cuda.jitc_step_end(blocks, c_size_t(3))
        begun = [op for op in cuda.take() if op.name in ("step_begin", "boundary")]
        assert [op.name for op in begun] == ["step_begin", "step_begin", "boundary", "boundary"]
        numbers.append([op.fields.get("step", op.fields.get("boundary")) for op in begun])
        assert numbers[-1][0] == numbers[-1][1] and numbers[-1][2] == numbers[-1][3]  # the same in both sessions
        assert live_in(begun[2], a) == [(a, 256), (a + 512, 64)]  # by ordinal
        assert live_in(begun[3], b) == [(b, 128)]
    assert [second - first for first, second in zip(*numbers, strict=True)] == [1, 1, 1, 1]


def test_a_session_that_is_opened_late_begins_with_the_newest_boundary(fresh: Cuda) -> None:
    fresh.jitc_step_end(None, c_size_t(0))  # there is none yet
    first = fresh.malloc(4096)
    fresh.jitc_step_begin()
    fresh.jitc_step_end(None, c_size_t(0))
    fresh.ok("cudaSetDevice", 1)
    second = fresh.malloc(4096)
    fresh.jitc_step_end(None, c_size_t(0))
    told = [
        (op.sequence, op.fields["boundary"], [block.address for block in live_of(op)])
        for op in fresh.take()
        if op.name == "boundary"
    ]
    assert told == [(1, 1, []), (4, 2, [first]), (1, 2, []), (5, 3, [first]), (3, 3, [second])]


def test_steps_of_many_threads_come_in_one_order(cuda: Cuda) -> None:
    cuda.take()

    def step() -> None:
        for _ in range(200):
            cuda.jitc_step_begin()
            cuda.jitc_step_end(None, c_size_t(0))

    threads = [threading.Thread(target=step) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told = [op for op in cuda.take() if op.name in ("step_begin", "boundary")]
    assert len(told) == 2 * 2 * 4 * 200
    for name, field in (("step_begin", "step"), ("boundary", "boundary")):
        numbers = [op.fields[field] for op in told if op.name == name]
        first = numbers[0]
        assert numbers == [first + i // 2 for i in range(len(numbers))]  # in both sessions before the next one


def test_steps_of_another_thread_are_marked(fresh: Cuda) -> None:
    fresh.malloc(4096)

    def step() -> None:
        fresh.jitc_step_begin()
        fresh.jitc_step_end(None, c_size_t(0))

    for one in (step, step):
        one()
    thread = threading.Thread(target=step)
    thread.start()
    thread.join()
    step()
    begun = [op for op in fresh.take() if op.name == "step_begin"]
    assert [bool(op.flags & OTHER_THREAD) for op in begun] == [False, False, True, False]


def test_memory_that_another_thread_takes_is_live_once_it_is_used(cuda: Cuda) -> None:
    """A boundary names all that was written before it, and nothing that is not allocated yet."""
    cuda.take()
    addresses: list[int] = []

    def allocate() -> None:
        for _ in range(300):
            address = cuda.malloc(LARGE)
            cuda.ok("cudaMemset", c_uint64(address), 1, c_size_t(4096))
            addresses.append(address)

    thread = threading.Thread(target=allocate)
    thread.start()
    while thread.is_alive():
        cuda.jitc_step_end(None, c_size_t(0))
    allocated, written, seen = set[int](), set[int](), set[int]()
    for op in cuda.take():
        if op.name == "allocate":
            allocated.add(op.fields["address"])
        elif op.name == "fill":
            written.add(op.fields["address"])
        elif op.name == "boundary" and op.fields["boundary"] not in seen:  # the first session's
            seen.add(op.fields["boundary"])
            live = {block.address for block in live_of(op)}
            assert written <= live
            assert not live & set(addresses) - allocated
    assert len(seen) > 10
    for address in addresses:
        cuda.ok("cudaFree", c_uint64(address))


def test_without_a_list_everything_allocated_is_live(cuda: Cuda) -> None:
    kept, freed = cuda.malloc(LARGE), cuda.malloc(LARGE)
    cuda.ok("cudaFree", c_uint64(freed))
    cuda.take()
    cuda.jitc_step_end(None, c_size_t(0))
    (boundary,) = [op for op in cuda.take() if kept.to_bytes(8, "little") in op.payload]
    addresses = [
        LiveBlock.from_buffer_copy(boundary.payload[i : i + 24]).address for i in range(0, len(boundary.payload), 24)
    ]
    assert kept in addresses and freed not in addresses and len(addresses) == boundary.fields["count"]


def said(cuda: Cuda, *listed: LiveBlock) -> set[tuple[int, int]]:
    """The blocks of GPU 0 that a step names, the same before it and after it."""
    cuda.take()
    blocks = (LiveBlock * max(1, len(listed)))(*listed)
    cuda.jitc_step_begin_live(blocks, c_size_t(len(listed)))
    cuda.jitc_step_end(blocks, c_size_t(len(listed)))
    ops = cuda.take()
    before, after = (live_of(next(op for op in ops if op.name == name)) for name in ("live_set", "boundary"))
    ordinals = [block.ordinal for block in after]
    assert ordinals == sorted(set(ordinals)), "no block is taken for another one"
    named = [{(block.address, block.bytes) for block in live} for live in (before, after)]
    assert named[0] == named[1]
    return named[1]


def follow(cuda: Cuda, address: int, size: int, followed: int = 1) -> None:
    cuda.jitc_follow_memory(c_uint64(address), c_size_t(size), followed)


def test_memory_that_nobody_follows_is_live_as_a_whole(cuda: Cuda) -> None:
    """Whatever is listed there: a list of none, too, is no list of everything, and none of nothing."""
    before = said(cuda)
    mine, foreign = cuda.malloc(LARGE), cuda.malloc(LARGE)
    follow(cuda, mine, LARGE)
    assert said(cuda) - before == {(foreign, LARGE)}
    listed = LiveBlock(mine + 512, 1024, 1), LiveBlock(foreign + 4096, 64, 2)
    assert said(cuda, *listed) - before == {(mine + 512, 1024), (foreign, LARGE)}
    follow(cuda, mine, LARGE, 0)
    assert said(cuda, *listed) - before == {(mine, LARGE), (foreign, LARGE)}
    cuda.jitc_step_end(None, c_size_t(0))  # without a list
    assert {(block.address, block.bytes) for op in cuda.take()[-2:-1] for block in live_of(op)} >= {(mine, LARGE)}
    for address in (mine, foreign):
        cuda.ok("cudaFree", c_uint64(address))
    assert said(cuda) == before


def test_who_follows_a_part_of_an_allocation_does_not_speak_for_it(cuda: Cuda) -> None:
    before = said(cuda)
    piece, other = cuda.malloc(2 * LARGE), cuda.malloc(LARGE)
    follow(cuda, piece, LARGE)
    follow(cuda, piece + LARGE, LARGE)
    assert said(cuda, LiveBlock(piece, 512, 1)) - before == {(piece, 2 * LARGE), (other, LARGE)}
    first, past = min(piece, other), max(piece + 2 * LARGE, other + LARGE)
    follow(cuda, first, past - first)  # several allocations at once
    assert said(cuda, LiveBlock(piece, 512, 1)) - before == {(piece, 512)}
    follow(cuda, first, past - first, 0)


def test_following_ends_with_the_allocation(cuda: Cuda) -> None:
    """What has the address later is somebody else's."""
    before = said(cuda)
    first = cuda.malloc(9 * LARGE)
    follow(cuda, first, 9 * LARGE)
    cuda.ok("cudaFree", c_uint64(first))
    for _ in range(2):
        said(cuda)
    assert cuda.malloc(9 * LARGE) == first
    assert said(cuda) - before == {(first, 9 * LARGE)}


def test_memory_that_small_blocks_share_is_followed_if_all_of_them_are(cuda: Cuda) -> None:
    before = said(cuda)
    blocks = [cuda.malloc(LARGE // 2 - 512) for _ in range(9)]
    slabs = {(address // LARGE * LARGE, LARGE) for address in blocks}
    assert said(cuda) - before == slabs
    for address in blocks:
        follow(cuda, address, LARGE // 2 - 512)
    assert said(cuda, LiveBlock(blocks[3], 64, 7)) - before == {(blocks[3], 64)} - before
    beside = cuda.malloc(512)
    assert (beside // LARGE * LARGE, LARGE) in said(cuda)
    cuda.ok("cudaFree", c_uint64(beside))
    assert not said(cuda) - before


def test_operator_calls_and_queries(cuda: Cuda) -> None:
    stream = cuda.make("cudaStreamCreateWithFlags", 1)
    cuda.take()
    assert cuda.jitc_operator_call(0, c_void_p(stream), b"call", c_size_t(4)) == 0
    assert cuda.jitc_operator_call(1, c_void_p(0), b"call", c_size_t(4)) == 0
    first, second = cuda.take()
    assert (first.name, first.stream, first.payload[:4], second.stream) == ("operator_call", stream, b"call", 0)
    reply = Reply()
    assert cuda.jitc_operator_query(0, c_void_p(stream), b"question", c_size_t(8), byref(reply)) == 0
    assert ctypes.string_at(reply.data, 8) == b"question" and reply.status == 0
    cuda.jitc_reply_free(byref(reply))
    assert not reply.data


def test_an_operators_error_comes_as_it_is(cuda: Cuda) -> None:
    cuda.jitc_fake_next_status(0x0402, 0x10001)
    reply = Reply()
    assert cuda.jitc_operator_query(0, c_void_p(0), b"x", c_size_t(1), byref(reply)) == 0x10001
    assert reply.status == 0x10001
    cuda.jitc_reply_free(byref(reply))
    assert cuda.jitc_operator_call(0, c_void_p(0x123456), b"x", c_size_t(1)) == 400


def test_the_phase_reaches_the_runtime(cuda: Cuda) -> None:
    for phase in (2, 1, 0):
        cuda.jitc_set_phase(phase)
        assert cuda.jitc_fake_phase() == phase
    cuda.jitc_set_phase(7)
    assert cuda.jitc_fake_phase() == 0
    source = CFUNCTYPE(c_int)(lambda: 2)
    cuda.jitc_set_phase_source(source)
    assert cuda.jitc_fake_phase() == 2
    cuda.jitc_set_phase_source(None)


def test_a_record_larger_than_the_protocol_is_an_error(cuda: Cuda) -> None:
    call = bytes(5 << 20)
    assert cuda.jitc_operator_call(0, c_void_p(0), call, c_size_t(len(call))) == 1
