"""Pinned memory: shared with the worker of the thread's GPU, else of the process alone; copies either way."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p
from pathlib import Path

import pytest
from api_rig import PINNED_BYTES, Cuda, fake_library
from host_rig import BASE, KIB, MIB, PAGE, RING, STREAM, copy, free, host_alloc, is_shared, names
from toolkit.progress_page import RESERVED

NOT_SUPPORTED, INITIALIZATION_ERROR = 801, 3


def test_it_lies_in_the_shared_file_and_is_registered(sharing: Cuda, pinned_memory: int) -> None:
    address = host_alloc(sharing, 5000)
    (op,) = sharing.take()
    assert (op.name, op.fields["address"], op.fields["bytes"]) == ("host_register", address, 2 * PAGE)
    ctypes.memmove(address, b"for the worker", 14)
    at = (address - BASE) % PINNED_BYTES
    assert at >= RESERVED
    assert os.pread(pinned_memory, 14, at) == b"for the worker"
    device = c_uint64()
    sharing.ok("cudaHostGetDevicePointer", byref(device), c_void_p(address), 0)
    assert device.value == address
    free(sharing, address)
    (op,) = sharing.take()
    assert (op.name, op.fields["address"]) == ("host_unregister", address)
    assert os.pread(pinned_memory, 14, at) == bytes(14)  # nothing is left behind


def test_copies_name_the_bytes_instead_of_carrying_them(sharing: Cuda) -> None:
    size = 2 * MIB + 5
    host, back, device = host_alloc(sharing, size), host_alloc(sharing, size), sharing.malloc(size)
    data = bytes(i * 7 % 251 for i in range(size))
    ctypes.memmove(host, data, size)
    sharing.take()
    copy(sharing, device, host, size)
    ops = sharing.take()
    assert [op.name for op in ops] == ["copy_h2d_pinned"] * 3
    assert [op.fields["bytes"] for op in ops] == [MIB, MIB, 5]
    assert [op.fields["source"] - host for op in ops] == [0, MIB, 2 * MIB]
    assert [op.fields["address"] - device for op in ops] == [0, MIB, 2 * MIB]
    copy(sharing, back, device, size, wait=True)
    assert ctypes.string_at(back, size) == data
    out = [op for op in sharing.take() if op.name == "copy_d2h_pinned"]
    assert [op.fields["destination"] - back for op in out] == [0, MIB, 2 * MIB]
    free(sharing, host, back)


def test_a_copy_out_does_not_wait(sharing: Cuda) -> None:
    host, device = host_alloc(sharing, PAGE), sharing.malloc(PAGE)
    sharing.ok("cudaMemset", c_uint64(device), c_int(7), c_size_t(PAGE))
    sharing.jitc_fake_hold(1)
    copy(sharing, host, device, 4)
    assert ctypes.string_at(host, 4) == bytes(4)
    sharing.ok("cudaStreamSynchronize", STREAM)
    assert ctypes.string_at(host, 4) == b"\7\7\7\7"
    free(sharing, host)


def test_small_copies_carry_their_bytes(sharing: Cuda) -> None:
    host, device = host_alloc(sharing, PAGE), sharing.malloc(PAGE)
    ctypes.memmove(host, b"few", 3)
    sharing.take()
    copy(sharing, device, host, 3)
    (op,) = sharing.take()
    assert op.name == "copy_h2d" and op.payload.startswith(b"few")
    free(sharing, host)


@pytest.mark.parametrize(("wait", "after"), [(True, ["stream_synchronize"]), (False, [])])
def test_a_blocking_copy_is_done_when_it_returns(sharing: Cuda, wait: bool, after: list[str]) -> None:
    """Until then the worker may not have taken the bytes, and the program may change them."""
    host, device = host_alloc(sharing, MIB), sharing.malloc(MIB)
    sharing.take()
    copy(sharing, device, host, MIB, wait)
    assert names(sharing) == ["copy_h2d_pinned", *after]
    free(sharing, host)


def test_out_and_in_again_keeps_the_order(sharing: Cuda) -> None:
    source, target, host = sharing.malloc(MIB), sharing.malloc(MIB), host_alloc(sharing, MIB)
    sharing.take()
    sharing.jitc_fake_hold(1)
    copy(sharing, host, source, MIB)
    copy(sharing, target, host, MIB)
    assert names(sharing) == ["copy_d2h_pinned", "stream_synchronize", "copy_h2d_pinned"]
    free(sharing, host)


def test_memory_is_given_back_after_all_that_may_use_it(sharing: Cuda) -> None:
    host, device = host_alloc(sharing, MIB), sharing.malloc(MIB)
    ctypes.memset(host, 5, MIB)
    sharing.jitc_fake_hold(1)
    copy(sharing, device, host, MIB)  # the worker has not seen it
    free(sharing, host)
    out = ctypes.create_string_buffer(4)
    copy(sharing, ctypes.addressof(out), device, 4, wait=True)
    assert out.raw == b"\5\5\5\5"


def test_another_gpu_gets_the_bytes_in_the_op(sharing: Cuda) -> None:
    host = host_alloc(sharing, MIB)
    ctypes.memset(host, 3, MIB)
    sharing.cudaSetDevice(0)
    device = sharing.malloc(MIB)
    sharing.take()
    copy(sharing, device, host, MIB, wait=True)
    ctypes.memset(host, 0, MIB)
    copy(sharing, host, device, MIB, wait=True)
    assert names(sharing) == ["copy_h2d", "stream_synchronize", "copy_d2h"]
    assert ctypes.string_at(host, 4) == b"\3\3\3\3"
    sharing.cudaSetDevice(1)
    free(sharing, host)


def test_registered_memory_is_not_shared(sharing: Cuda) -> None:
    memory, device = ctypes.create_string_buffer(MIB), sharing.malloc(MIB)
    pointer = c_void_p(ctypes.addressof(memory))
    sharing.ok("cudaHostRegister", pointer, c_size_t(MIB), 0)
    sharing.take()
    copy(sharing, device, ctypes.addressof(memory), MIB)
    (op,) = sharing.take()
    assert op.name == "copy_h2d_pinned" and is_shared(op.fields["source"])  # by the ring, as pageable memory
    copy(sharing, device, ctypes.addressof(memory), 63 * KIB)
    assert names(sharing) == ["copy_h2d"]
    sharing.ok("cudaHostUnregister", pointer)


def test_kernels_cannot_have_memory_that_is_not_shared(gpu: Cuda) -> None:
    address, device = host_alloc(gpu, PAGE), c_uint64()  # GPU 0: its worker shares none
    assert gpu.cudaHostGetDevicePointer(byref(device), c_void_p(address), 0) == NOT_SUPPORTED
    gpu.cudaGetLastError()
    free(gpu, address)


def test_room_is_used_again_and_more_is_memory_of_the_process(sharing: Cuda) -> None:
    all_of_it = PINNED_BYTES - RESERVED - RING
    half = all_of_it // 2 // PAGE * PAGE
    blocks = [host_alloc(sharing, half) for _ in range(3)]
    assert names(sharing) == ["host_register"] * 2
    assert [is_shared(one) for one in blocks] == [True, True, False]
    for one in blocks:
        ctypes.memset(one, 1, half)
    free(sharing, *blocks)
    sharing.take()
    whole = host_alloc(sharing, all_of_it)  # neighbours have become one again, and are zero again
    assert names(sharing) == ["host_register"]
    assert ctypes.string_at(whole, all_of_it) == bytes(all_of_it)
    free(sharing, whole)


def test_memory_that_the_worker_cannot_register_is_of_the_process(sharing: Cuda) -> None:
    sharing.jitc_fake_next_status(0x020B, 2)
    address = host_alloc(sharing, MIB)
    assert not is_shared(address)
    sharing.take()
    free(sharing, address)
    assert names(sharing) == []


def test_a_forked_child_leaves_it_alone(sharing: Cuda) -> None:
    address = host_alloc(sharing, PAGE)
    ctypes.memmove(address, b"kept", 4)
    sharing.take()
    sharing.jitc_fake_forked(1)
    assert sharing.cudaFreeHost(c_void_p(address)) == INITIALIZATION_ERROR
    assert sharing.cudaHostAlloc(byref(c_uint64()), c_size_t(PAGE), 0) == INITIALIZATION_ERROR
    sharing.jitc_fake_forked(0)
    sharing.cudaGetLastError()
    assert ctypes.string_at(address, 4) == b"kept" and names(sharing) == []
    free(sharing, address)


def test_without_shared_memory_copies_carry_their_bytes(tmp_path: Path) -> None:
    """The service has it, but did not give it: memory of the process alone, and one line says so."""
    program = "import test_host_memory; test_host_memory.program_without_sharing()"
    env = {
        **os.environ, "JITC_FAKE_PINNED": str(tmp_path / "nothing"), "PYTHONPATH": os.pathsep.join(sys.path),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=env, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.count("\n") == 1 and "pinned memory is not shared with the worker" in done.stderr


def program_without_sharing() -> None:
    """Of the process that the test starts."""
    cuda = Cuda(fake_library())
    cuda.ok("cudaSetDevice", 1)
    hosts = [host_alloc(cuda, MIB) for _ in range(2)]
    device = cuda.malloc(MIB)
    ctypes.memset(hosts[0], 9, MIB)
    copy(cuda, device, hosts[0], MIB)
    copy(cuda, hosts[1], device, MIB)
    cuda.ok("cudaDeviceSynchronize")
    assert ctypes.string_at(hosts[1], MIB) == b"\x09" * MIB
    assert [name for name in names(cuda) if name.startswith(("copy", "host"))] == ["copy_h2d", "copy_d2h"]
    free(cuda, *hosts)
