"""Pageable memory: larger copies pass through a ring of shared memory, which here has one slot."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from ctypes import c_int, c_size_t, c_uint64

import pytest
from api_rig import Cuda
from host_rig import KIB, MIB, STREAM, copy, is_shared, names

INITIALIZATION_ERROR, UNKNOWN = 3, 999
FLOAT32 = 1


class Host:
    """Ordinary memory of the program."""

    def __init__(self, size: int, content: bytes = b"") -> None:
        self.memory = ctypes.create_string_buffer(content, size)
        self.address = ctypes.addressof(self.memory)

    @property
    def content(self) -> bytes:
        return self.memory.raw


def send(cuda: Cuda, device: int, data: bytes) -> None:
    """From memory that lives as long as the call, and no longer."""
    host = Host(len(data), data)
    copy(cuda, device, host.address, len(data))


def device_with(cuda: Cuda, data: bytes) -> int:
    """Device memory with this content."""
    device = cuda.malloc(len(data))
    send(cuda, device, data)
    return device


@pytest.mark.parametrize("size", [64 * KIB, MIB, 3 * MIB + 5])
def test_bytes_go_to_the_device_and_come_back(sharing: Cuda, size: int) -> None:
    data, pieces = os.urandom(size), -(-size // MIB)
    host, back, device = Host(size, data), Host(size), sharing.malloc(size)
    sharing.take()
    copy(sharing, device, host.address, size)
    ops = sharing.take()
    assert [op.name for op in ops] == ["copy_h2d_pinned"] * pieces and not any(op.payload for op in ops)
    assert all(is_shared(op.fields["source"]) for op in ops)
    assert [op.fields["address"] - device for op in ops] == [MIB * number for number in range(pieces)]
    assert sum(op.fields["bytes"] for op in ops) == size
    copy(sharing, back.address, device, size, wait=True)
    ops = [op for op in sharing.take() if op.name.startswith("copy")]
    assert [op.name for op in ops] == ["copy_d2h_pinned"] * pieces
    assert all(is_shared(op.fields["destination"]) for op in ops)
    assert back.content == data


def test_the_program_may_change_its_memory_at_once(sharing: Cuda) -> None:
    host, back, device = Host(MIB, b"\1" * MIB), Host(MIB), sharing.malloc(MIB)
    sharing.jitc_fake_hold(1)  # the worker takes nothing yet
    copy(sharing, device, host.address, MIB)
    ctypes.memset(host.address, 2, MIB)
    copy(sharing, back.address, device, MIB, wait=True)
    assert back.content == b"\1" * MIB


def test_a_slot_is_used_again_only_when_the_worker_has_its_bytes(sharing: Cuda) -> None:
    first, second = (sharing.malloc(MIB) for _ in range(2))
    sharing.jitc_fake_hold(1)
    send(sharing, first, b"a" * MIB)
    send(sharing, second, b"b" * MIB)  # waits for it
    sharing.jitc_fake_hold(0)
    for device, expected in ((first, b"a"), (second, b"b")):
        back = Host(MIB)
        copy(sharing, back.address, device, MIB, wait=True)
        assert back.content == expected * MIB


def test_copies_to_the_host_that_are_on_their_way_keep_their_slots(sharing: Cuda) -> None:
    """Only those to registered memory do not wait."""
    data = os.urandom(3 * MIB)
    device, other, back = device_with(sharing, data), sharing.malloc(MIB), Host(3 * MIB)
    sharing.ok("cudaHostRegister", c_uint64(back.address), c_size_t(3 * MIB), c_int(0))
    sharing.take()
    sharing.jitc_fake_hold(1)
    copy(sharing, back.address, device, 3 * MIB)
    assert names(sharing) == ["copy_d2h_pinned", "stream_synchronize"] * 2 + ["copy_d2h_pinned"]
    send(sharing, other, b"x" * MIB)  # the slot has a piece that is under way
    assert names(sharing) == ["copy_h2d"]
    sharing.ok("cudaStreamSynchronize", STREAM)
    assert back.content == data
    sharing.ok("cudaHostUnregister", c_uint64(back.address))


def test_small_copies_and_other_gpus_send_the_bytes(sharing: Cuda) -> None:
    host, device = Host(MIB), sharing.malloc(MIB)
    sharing.take()
    copy(sharing, device, host.address, 64 * KIB - 1)
    copy(sharing, host.address, device, 64 * KIB - 1, wait=True)
    assert names(sharing) == ["copy_h2d", "copy_d2h"]
    sharing.cudaSetDevice(0)  # its worker shares none
    device = sharing.malloc(MIB)
    sharing.take()
    copy(sharing, device, host.address, MIB)
    copy(sharing, host.address, device, MIB, wait=True)
    assert names(sharing) == ["copy_h2d", "copy_d2h"]


@pytest.fixture
def numbers(sharing: Cuda) -> Iterator[Cuda]:
    sharing.jitc_set_element_type(c_int(FLOAT32))
    yield sharing
    sharing.jitc_set_element_type(c_int(0))


def test_numbers_go_through_the_journal_up_to_a_mebibyte(numbers: Cuda) -> None:
    """There a replay that adds them up in another order can compare them as numbers."""
    host, device = Host(MIB), numbers.malloc(MIB)
    numbers.take()
    copy(numbers, host.address, device, MIB - 4, wait=True)
    copy(numbers, host.address, device, MIB, wait=True)
    assert names(numbers) == ["copy_d2h", "copy_d2h_pinned"]


@pytest.mark.parametrize("over", ["forked", "over"])
def test_a_session_that_is_over_leaves_the_ring_alone(sharing: Cuda, over: str) -> None:
    """A forked child has the parent's memory."""
    device, back = device_with(sharing, b"p" * MIB), Host(MIB)
    sharing.jitc_fake_hold(1)
    send(sharing, device, b"q" * MIB)
    (op,) = [one for one in sharing.take() if one.name == "copy_h2d_pinned"][-1:]
    status = {"forked": INITIALIZATION_ERROR, "over": UNKNOWN}[over]
    getattr(sharing, f"jitc_fake_{over}")(status if over == "over" else 1)
    mine = Host(MIB, b"r" * MIB)
    arguments = c_uint64(device), c_uint64(mine.address), c_size_t(MIB), c_int(1), STREAM
    assert sharing.cudaMemcpyAsync(*arguments) == status
    assert ctypes.string_at(op.fields["source"], MIB) == b"q" * MIB
    getattr(sharing, f"jitc_fake_{over}")(0)
    sharing.cudaGetLastError()
    sharing.jitc_fake_hold(0)
    copy(sharing, back.address, device, MIB, wait=True)
    assert back.content == b"q" * MIB
