"""Allocation, copies, fills and pointers, as ops and as bytes."""

from __future__ import annotations

import ctypes
import itertools
import struct
from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p

import pytest
from api_rig import Cuda
from interpose_types import PointerAttributes

MIB = 1 << 20
DEFAULT = c_int(4)  # cudaMemcpyDefault
INVALID, OUT_OF_MEMORY, INVALID_HANDLE = 1, 2, 400


def upload(cuda: Cuda, data: bytes) -> int:
    address = cuda.malloc(len(data))
    cuda.ok("cudaMemcpy", c_void_p(address), data, c_size_t(len(data)), DEFAULT)
    return address


def download(cuda: Cuda, address: int, size: int) -> bytes:
    out = ctypes.create_string_buffer(size)
    cuda.ok("cudaMemcpy", out, c_void_p(address), c_size_t(size), DEFAULT)
    return out.raw


def test_addresses_are_aligned_and_unreadable_in_the_process(cuda: Cuda) -> None:
    first, second = cuda.malloc(100), cuda.malloc(3 * MIB)
    assert first % (2 * MIB) == second % (2 * MIB) == 0 and first != second
    allocate = cuda.take()[-2]
    assert (allocate.name, allocate.fields["address"], allocate.fields["bytes"]) == ("allocate", first, 2 * MIB)
    with open("/proc/self/maps") as maps:
        inside = [
            line for line in maps if int(line.split("-")[0], 16) <= first < int(line.split()[0].split("-")[1], 16)
        ]
    assert [line.split()[1] for line in inside] == ["---p"]


def test_out_of_memory_leaves_no_allocation(cuda: Cuda) -> None:
    cuda.jitc_fake_next_status(0x0201, OUT_OF_MEMORY)
    out = c_uint64(1)
    assert cuda.cudaMalloc(byref(out), c_size_t(MIB)) == OUT_OF_MEMORY
    assert out.value == 0
    assert cuda.cudaGetLastError() == OUT_OF_MEMORY and cuda.cudaGetLastError() == 0
    [asked] = [op for op in cuda.take() if op.name == "allocate"]
    assert cuda.cudaFree(c_uint64(asked.fields["address"])) == INVALID


def test_nothing_is_allocated_for_zero_bytes(cuda: Cuda) -> None:
    assert cuda.malloc(0) == 0
    cuda.ok("cudaFree", c_uint64(0))
    assert cuda.take() == []


def test_a_freed_range_rests_for_two_boundaries(cuda: Cuda) -> None:
    size = 7 * MIB
    address = cuda.malloc(size)
    cuda.ok("cudaFree", c_uint64(address))
    cuda.jitc_step_end(None, c_size_t(0))
    assert cuda.malloc(size) != address
    cuda.jitc_step_end(None, c_size_t(0))
    assert cuda.malloc(size) == address
    assert cuda.malloc(size) != address


def test_small_blocks_share_memory(cuda: Cuda) -> None:
    blocks = [cuda.malloc(4096) for _ in range(1024)] + [cuda.malloc(1), cuda.malloc(700)]
    assert [op.name for op in cuda.take()] == ["allocate"] * 3
    assert all(address % 512 == 0 for address in blocks)
    ranges = sorted(zip(blocks, [4096] * 1024 + [1, 700], strict=True))
    assert all(one + size <= other for (one, size), (other, _) in itertools.pairwise(ranges))
    for target, size in ((blocks[7], 4097), (blocks[-1], 701), (blocks[-2] + 1, 1)):
        assert cuda.cudaMemset(c_uint64(target), c_int(0), c_size_t(size)) == INVALID, "a neighbour is not its own"
    assert cuda.take() == []


def test_memory_of_small_blocks_goes_with_the_last_one(cuda: Cuda) -> None:
    first, second = cuda.malloc(4096), cuda.malloc(8192)
    slab = cuda.take()[-1].fields["address"]
    cuda.ok("cudaFree", c_uint64(first))
    assert cuda.cudaFree(c_uint64(first)) == INVALID
    assert cuda.take() == []
    cuda.ok("cudaFree", c_uint64(second))
    assert [(op.name, op.fields["address"]) for op in cuda.take()] == [("free", slab)]
    assert cuda.malloc(4096) // (2 * MIB) != slab // (2 * MIB), "it rests, as all addresses do"


def test_a_freed_small_block_rests_for_two_boundaries(cuda: Cuda) -> None:
    kept, freed = cuda.malloc(4096), cuda.malloc(8192)
    cuda.ok("cudaFree", c_uint64(freed))
    cuda.jitc_step_end(None, c_size_t(0))
    assert cuda.malloc(8192) != freed
    cuda.jitc_step_end(None, c_size_t(0))
    assert cuda.malloc(8192) == freed
    assert cuda.malloc(8192) > freed > kept


def test_small_blocks_that_rest_are_used_where_there_is_no_more_memory(cuda: Cuda) -> None:
    blocks = [cuda.malloc(MIB // 2) for _ in range(4)]
    cuda.ok("cudaFree", c_uint64(blocks[1]))
    cuda.take()
    cuda.jitc_fake_next_status(0x0201, OUT_OF_MEMORY)
    assert cuda.malloc(MIB // 2) == blocks[1]
    assert [op.name for op in cuda.take()] == ["allocate", "device_synchronize"]


def named_by_a_boundary(cuda: Cuda) -> set[tuple[int, int]]:
    cuda.take()
    cuda.jitc_step_end(None, c_size_t(0))
    boundary = next(op for op in cuda.take() if op.name == "boundary")
    return {(address, size) for address, size, _ in struct.iter_unpack("<QQQ", boundary.payload)}


def test_a_boundary_names_the_memory_of_small_blocks(cuda: Cuda) -> None:
    """However many there are: they come back with it."""
    before = named_by_a_boundary(cuda)
    slabs = {cuda.malloc(4096) // (2 * MIB) * (2 * MIB) for _ in range(1000)}
    large = cuda.malloc(3 * MIB)
    assert named_by_a_boundary(cuda) - before == {(slab, 2 * MIB) for slab in slabs} | {(large, 3 * MIB)}


def test_free_of_what_is_not_allocated_is_refused(cuda: Cuda) -> None:
    address = cuda.malloc(MIB)
    assert cuda.cudaFree(c_uint64(address + 4096)) == INVALID
    cuda.ok("cudaFree", c_uint64(address))
    assert cuda.cudaFree(c_uint64(address)) == INVALID


@pytest.mark.parametrize("size", [1, 4096, MIB, 3 * MIB + 5])
def test_bytes_come_back_whatever_their_number(cuda: Cuda, size: int) -> None:
    data = bytes(i * 7 % 251 for i in range(size))
    address = upload(cuda, data)
    pieces = [op for op in cuda.take() if op.name == "copy_h2d"]
    assert sum(op.fields["bytes"] for op in pieces) == size and max(op.fields["bytes"] for op in pieces) <= MIB
    assert download(cuda, address, size) == data


def test_copy_to_pinned_memory_does_not_wait_and_to_other_memory_does(cuda: Cuda) -> None:
    data = b"0123456789abcdef"
    address = upload(cuda, data)
    pinned = cuda.make("cudaHostAlloc", c_size_t(4096), c_int(0))
    stream = cuda.make("cudaStreamCreateWithFlags", c_int(1))
    cuda.jitc_fake_hold(1)
    cuda.ok("cudaMemcpyAsync", c_void_p(pinned), c_void_p(address), c_size_t(16), DEFAULT, c_uint64(stream))
    assert ctypes.string_at(pinned, 16) == bytes(16)
    cuda.ok("cudaStreamSynchronize", c_uint64(stream))
    assert ctypes.string_at(pinned, 16) == data
    out = ctypes.create_string_buffer(16)
    cuda.ok("cudaMemcpyAsync", out, c_void_p(address), c_size_t(16), DEFAULT, c_uint64(stream))
    assert out.raw == data
    cuda.ok("cudaFreeHost", c_void_p(pinned))


@pytest.mark.parametrize("size", [16, MIB])
def test_a_synchronous_copy_to_the_device_waits_as_cuda_s_does(cuda: Cuda, size: int) -> None:
    """From pageable memory for the work before it, from pinned memory until it is done; not when there is no need."""
    address, pinned = cuda.malloc(size), cuda.make("cudaHostAlloc", c_size_t(size), c_int(0))
    cuda.ok("cudaDeviceSynchronize")
    cuda.take()
    arguments = (c_size_t(size), DEFAULT)
    cuda.jitc_fake_hold(1)
    cuda.ok("cudaMemcpy", c_void_p(address), bytes(size), *arguments)
    assert [op.name for op in cuda.take()] == ["copy_h2d"]  # nothing was under way
    cuda.ok("cudaMemcpy", c_void_p(address), bytes(size), *arguments)
    assert [op.name for op in cuda.take()] == ["stream_synchronize", "copy_h2d"]
    cuda.ok("cudaMemcpy", c_void_p(address), c_void_p(pinned), *arguments)
    assert [op.name for op in cuda.take()] == ["copy_h2d", "stream_synchronize"]
    cuda.ok("cudaMemcpyAsync", c_void_p(address), bytes(size), *arguments, c_uint64(0))
    cuda.ok("cudaMemcpyAsync", c_void_p(address), c_void_p(pinned), *arguments, c_uint64(0))
    assert [op.name for op in cuda.take()] == ["copy_h2d", "copy_h2d"]
    cuda.ok("cudaFreeHost", c_void_p(pinned))


@pytest.mark.parametrize("host_is_pinned", [False, True])
def test_rows_to_the_device_wait_together(cuda: Cuda, host_is_pinned: bool) -> None:
    address, pinned = cuda.malloc(4096), cuda.make("cudaHostAlloc", c_size_t(4096), c_int(0))
    cuda.ok("cudaMemsetAsync", c_uint64(address), 0, c_size_t(64), c_uint64(0))
    cuda.take()
    cuda.jitc_fake_hold(1)
    source = c_void_p(pinned) if host_is_pinned else bytes(64)
    pitches = (c_size_t(16), source, c_size_t(8), c_size_t(8), c_size_t(8))
    cuda.ok("cudaMemcpy2D", c_void_p(address), *pitches, DEFAULT)
    rows, waits = ["copy_h2d"] * 8, ["stream_synchronize"]
    assert [op.name for op in cuda.take()] == (rows + waits if host_is_pinned else waits + rows)
    cuda.ok("cudaFreeHost", c_void_p(pinned))


def test_pinned_memory_is_not_given_back_while_a_copy_writes_to_it(cuda: Cuda) -> None:
    address = upload(cuda, b"x" * 64)
    pinned = cuda.make("cudaHostAlloc", c_size_t(4096), c_int(0))
    cuda.jitc_fake_hold(1)
    cuda.ok("cudaMemcpyAsync", c_void_p(pinned), c_void_p(address), c_size_t(64), DEFAULT, c_uint64(0))
    cuda.take()
    cuda.ok("cudaFreeHost", c_void_p(pinned))
    assert [op.name for op in cuda.take()] == ["stream_synchronize"]


def test_out_and_in_through_pinned_memory_keeps_the_order(cuda: Cuda) -> None:
    source, target = upload(cuda, b"new content here"), upload(cuda, b"old content here")
    pinned = cuda.make("cudaHostAlloc", c_size_t(16), c_int(0))
    cuda.jitc_fake_hold(1)
    cuda.ok("cudaMemcpyAsync", c_void_p(pinned), c_void_p(source), c_size_t(16), DEFAULT, c_uint64(0))
    cuda.ok("cudaMemcpyAsync", c_void_p(target), c_void_p(pinned), c_size_t(16), DEFAULT, c_uint64(0))
    assert download(cuda, target, 16) == b"new content here"


def test_a_copy_outside_an_allocation_is_refused_here(cuda: Cuda) -> None:
    address = cuda.malloc(4096)
    cuda.take()
    for target, size in ((address, 4097), (address + 4000, 97), (address + 2 * MIB, 1)):
        assert cuda.cudaMemcpy(c_void_p(target), bytes(size), c_size_t(size), DEFAULT) == INVALID
    assert cuda.cudaMemset(c_uint64(address), c_int(0), c_size_t(4097)) == INVALID
    assert cuda.take() == []


def test_device_to_device_and_fill_are_single_ops(cuda: Cuda) -> None:
    a, b = cuda.malloc(MIB), cuda.malloc(MIB)
    cuda.take()
    cuda.ok("cudaMemsetAsync", c_uint64(a), c_int(0x1FF), c_size_t(MIB), c_uint64(0))
    cuda.ok("cudaMemcpyAsync", c_void_p(b), c_void_p(a), c_size_t(MIB), c_int(3), c_uint64(0))
    fill, copy = cuda.take()
    assert (fill.name, fill.fields["value"], fill.fields["width"]) == ("fill", 0xFF, 1)
    assert (copy.name, copy.fields["destination"], copy.fields["source"]) == ("copy_d2d", b, a)
    assert download(cuda, b, 2) == b"\xff\xff"


def test_copy_between_gpus_is_staged_and_done_on_return(cuda: Cuda) -> None:
    data = bytes(range(256)) * 8192  # 2 MiB: several pieces
    source = upload(cuda, data)
    cuda.ok("cudaSetDevice", 1)
    target = cuda.malloc(len(data))
    cuda.ok("cudaMemcpyPeerAsync", c_void_p(target), 1, c_void_p(source), 0, c_size_t(len(data)), c_uint64(0))
    assert download(cuda, target, len(data)) == data


def test_rows_are_copied_by_pitch(cuda: Cuda) -> None:
    address = cuda.malloc(64)
    cuda.ok("cudaMemset", c_uint64(address), 0, c_size_t(64))
    rows = b"aaaabbbbcccc"
    pitch, width, height = c_size_t(16), c_size_t(4), c_size_t(3)
    cuda.ok("cudaMemcpy2D", c_void_p(address), pitch, rows, c_size_t(4), width, height, DEFAULT)
    assert download(cuda, address, 36)[::16] + download(cuda, address + 32, 4) == b"abccccc"
    assert cuda.cudaMemcpy2D(c_void_p(address), c_size_t(2), rows, c_size_t(4), width, height, DEFAULT) == 12


def test_a_pointer_says_what_it_is(cuda: Cuda) -> None:
    address = cuda.malloc(4096)
    pinned = cuda.make("cudaMallocHost", c_size_t(4096))
    other = ctypes.create_string_buffer(8)
    seen = []
    for pointer in (address + 100, pinned + 100, ctypes.addressof(other)):
        attributes = PointerAttributes()
        cuda.ok("cudaPointerGetAttributes", byref(attributes), c_uint64(pointer))
        seen.append((attributes.type, attributes.device))
    assert seen == [(2, 0), (1, 0), (0, -2)]
    base, size = c_uint64(), c_size_t()
    cuda.ok("cuMemGetAddressRange_v2", byref(base), byref(size), c_uint64(address + 100))
    assert (base.value, size.value) == (address, 4096)
    cuda.ok("cudaFreeHost", c_void_p(pinned))


def test_registered_memory_counts_as_pinned(cuda: Cuda) -> None:
    memory = ctypes.create_string_buffer(8192)
    pointer = c_void_p(ctypes.addressof(memory))
    cuda.ok("cudaHostRegister", pointer, c_size_t(8192), 0)
    assert cuda.cudaHostRegister(pointer, c_size_t(16), 0) == 712
    assert cuda.cudaFreeHost(pointer) == INVALID
    cuda.ok("cudaHostUnregister", pointer)
    assert cuda.cudaHostUnregister(pointer) == 713


def test_memory_information_comes_from_the_device(cuda: Cuda) -> None:
    free, total = c_size_t(), c_size_t()
    cuda.ok("cudaMemGetInfo", byref(free), byref(total))
    assert (free.value, total.value) == (1 << 29, 1 << 30)


@pytest.mark.parametrize("size", [8192, 7 * MIB])
def test_a_free_waits_for_all_work_of_the_gpu(cuda: Cuda, size: int) -> None:
    """As CUDA's does; whatever the stream, since no event of the program orders it."""
    address, other = cuda.malloc(size), cuda.malloc(4096)
    stream = cuda.make("cudaStreamCreateWithFlags", c_int(1))
    cuda.ok("cudaMemsetAsync", c_uint64(other), c_int(1), c_size_t(8), c_uint64(stream))
    cuda.take()
    cuda.ok("cudaFree", c_uint64(address))
    assert cuda.take()[0].name == "device_synchronize"
    cuda.ok("cudaFree", c_uint64(other))


@pytest.mark.parametrize("size", [8192, 23 * MIB])  # of a size that no other test gives back
def test_memory_that_is_freed_in_a_stream_is_nobody_s_while_the_stream_may_use_it(cuda: Cuda, size: int) -> None:
    """Boundaries that are skipped, or given up, wait for no stream."""
    kept, address = cuda.malloc(4096), cuda.malloc(size)
    stream = cuda.make("cudaStreamCreateWithFlags", c_int(1))
    cuda.jitc_fake_hold(1)
    cuda.ok("cudaMemsetAsync", c_uint64(address), c_int(1), c_size_t(8), c_uint64(stream))
    cuda.take()
    cuda.ok("cudaFreeAsync", c_uint64(address), c_uint64(stream))
    assert "device_synchronize" not in [op.name for op in cuda.take()]
    for _ in range(3):
        cuda.jitc_step_end(None, c_size_t(0))
    more = cuda.make("cudaMallocAsync", c_size_t(size), c_uint64(0))
    assert more not in (address, kept)
    cuda.jitc_fake_hold(0)
    cuda.jitc_step_end(None, c_size_t(0))
    again = cuda.make("cudaMallocAsync", c_size_t(size), c_uint64(0))
    assert again == address
    for one in (kept, more, again):
        cuda.ok("cudaFree", c_uint64(one))


def test_a_free_in_a_stream_of_another_gpu_waits_for_both(cuda: Cuda) -> None:
    """What its stream has been given has another session's numbers: they say nothing of the memory's own."""
    address, kept = cuda.malloc(4096), cuda.malloc(4096)
    cuda.ok("cudaMemsetAsync", c_uint64(address), c_int(1), c_size_t(8), c_uint64(0))
    cuda.ok("cudaSetDevice", c_int(1))
    stream, other = cuda.make("cudaStreamCreateWithFlags", c_int(1)), cuda.malloc(4096)
    cuda.ok("cudaMemsetAsync", c_uint64(other), c_int(1), c_size_t(8), c_uint64(stream))
    cuda.take()
    cuda.ok("cudaFreeAsync", c_uint64(address), c_uint64(stream))
    assert [op.name for op in cuda.take()] == ["stream_synchronize", "device_synchronize"]
    cuda.ok("cudaFreeAsync", c_uint64(0), c_uint64(stream))
    assert cuda.take() == []
    cuda.ok("cudaFree", c_uint64(other))
    cuda.ok("cudaSetDevice", c_int(0))
    cuda.ok("cudaFree", c_uint64(kept))


def test_a_free_in_a_stream_that_others_order_waits(cuda: Cuda) -> None:
    """A blocking stream and the default one wait for each other without a word."""
    address = cuda.malloc(4096)
    blocking = cuda.make("cudaStreamCreate")
    cuda.ok("cudaMemsetAsync", c_uint64(address), c_int(1), c_size_t(8), c_uint64(blocking))
    for stream in (0, blocking):
        other = cuda.malloc(4096)
        cuda.ok("cudaMemsetAsync", c_uint64(address), c_int(1), c_size_t(8), c_uint64(blocking))
        cuda.take()
        cuda.ok("cudaFreeAsync", c_uint64(other), c_uint64(stream))
        assert [op.name for op in cuda.take()] == ["device_synchronize"], stream
    cuda.ok("cudaFree", c_uint64(address))
    cuda.ok("cudaStreamDestroy", c_uint64(blocking))
