"""Launches: packed parameters, attributes, what is refused at the call."""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Sequence
from ctypes import byref, c_double, c_float, c_int32, c_size_t, c_uint8, c_uint16, c_uint64, c_void_p

import pytest
from api_rig import Cuda, Recorded
from interpose_program import USUAL, Program, pointers
from interpose_types import Dim3

NOTHING = c_void_p(0)
ONE = Dim3(1, 1, 1)
RECORD = 72  # LaunchAttribute


class Odd(ctypes.Structure):
    """Twelve bytes with a hole: packed by value."""

    _fields_ = (("a", c_uint8), ("b", c_uint16), ("c", c_uint8 * 7))


class RuntimeConfig(ctypes.Structure):
    _fields_ = (
        ("grid", Dim3), ("block", Dim3), ("shared", c_size_t), ("stream", c_uint64),
        ("attributes", c_void_p), ("count", c_int32),
    )  # fmt: skip


class DriverConfig(ctypes.Structure):
    _fields_ = (
        ("grid", Dim3), ("block", Dim3), ("shared", c_int32), ("stream", c_uint64),
        ("attributes", c_void_p), ("count", c_int32),
    )  # fmt: skip


def attribute(number: int, value: bytes) -> bytes:
    return struct.pack("<II64s", number, 0, value)


def launched(gpu: Cuda) -> Recorded:
    (op,) = [op for op in gpu.take() if op.name == "kernel_launch"]
    return op


def launch(gpu: Cuda, kernel: c_uint64, arguments: object, shape: Sequence[Dim3] = (ONE, ONE), shared: int = 0) -> int:
    return int(gpu.cudaLaunchKernel(kernel, *shape, arguments, c_size_t(shared), c_uint64(0)))


def test_parameters_lie_where_the_kernel_wants_them(gpu: Cuda) -> None:
    stream = gpu.make("cudaStreamCreateWithFlags", 1)
    layout = [(0, 1), (4, 4), (8, 8), (16, 10), (26, 2), (32, 8), (40, 4)]
    kernel = Program(gpu).kernel(layout)
    odd = Odd(0x11, 0x2233, (c_uint8 * 7)(*range(7)))
    values = (c_uint8(0xAB), c_int32(-2), c_uint64(0x200000001000), odd, c_uint16(0xBEEF), c_double(2.5), c_float(-1.5))
    arguments = pointers(*values)
    for name in ("cudaLaunchKernel", "__cudaLaunchKernel"):
        call = getattr(gpu.library, name)
        assert call(kernel, Dim3(7, 6, 5), Dim3(32, 4, 2), arguments, c_size_t(100), c_uint64(stream)) == 0
        op = launched(gpu)
        assert op.stream == stream
        assert {key: value for key, value in op.fields.items() if key != "function"} == {
            "grid_x": 7, "grid_y": 6, "grid_z": 5, "block_x": 32, "block_y": 4, "block_z": 2,
            "shared": 100, "attributes": 0, "parameters": 44,
        }  # fmt: skip
        expected = bytearray(44)
        for (offset, size), value in zip(layout, values, strict=True):
            expected[offset : offset + size] = bytes(value)[:size]
        assert op.payload[:44] == bytes(expected)
        assert expected[1:4] == bytes(3) and expected[28:32] == bytes(4)  # nothing between them


def test_large_parameters_and_none(gpu: Cuda) -> None:
    program = Program(gpu)
    large = ctypes.create_string_buffer(bytes(range(256)) * 80, 20480)
    assert launch(gpu, program.kernel([(0, 20480)]), pointers(large)) == 0
    assert launched(gpu).payload == large.raw
    without = program.kernel()
    assert launch(gpu, without, NOTHING) == 0
    op = launched(gpu)
    assert (op.fields["parameters"], op.payload) == (0, b"")
    assert launch(gpu, program.kernel([(0, 4)]), NOTHING) == 1


def test_attributes_travel_as_they_are(gpu: Cuda) -> None:
    kernel = Program(gpu).kernel([(0, 4)])
    value = c_int32(77)
    cluster = attribute(4, struct.pack("<III", 2, 1, 1))
    serial = attribute(6, struct.pack("<i", 1))
    attributes = ctypes.create_string_buffer(cluster + serial, 2 * RECORD)
    config = RuntimeConfig(Dim3(4, 1, 1), Dim3(64, 1, 1), 8, 0, ctypes.addressof(attributes), 2)
    gpu.ok("cudaLaunchKernelExC", byref(config), kernel, pointers(value))
    op = launched(gpu)
    assert (op.fields["attributes"], op.fields["parameters"], op.fields["shared"]) == (2, 4, 8)
    assert op.payload[: 2 * RECORD + 4] == cluster + serial + bytes(value)
    driver = DriverConfig(Dim3(4, 1, 1), Dim3(64, 1, 1), 8, 0, ctypes.addressof(attributes), 1)
    gpu.ok("cuLaunchKernelEx", byref(driver), kernel, pointers(value), NOTHING)
    assert launched(gpu).payload[: RECORD + 4] == cluster + bytes(value)
    driver.attributes = None
    assert gpu.cuLaunchKernelEx(byref(driver), kernel, pointers(value), NOTHING) == 1


def test_hints_stay_here(gpu: Cuda) -> None:
    kernel = Program(gpu).kernel()
    cluster = struct.pack("<II64s", 4, 0xFFFF, struct.pack("<III", 2, 1, 1))
    data = b"".join(attribute(number, b"\1" * 64) for number in (0, 1, 3)) + cluster + attribute(16, b"\1")
    attributes = ctypes.create_string_buffer(data, len(data))
    config = RuntimeConfig(Dim3(2, 1, 1), ONE, 0, 0, ctypes.addressof(attributes), 5)
    gpu.ok("cudaLaunchKernelExC", byref(config), kernel, NOTHING)
    assert launched(gpu).payload == attribute(4, struct.pack("<III", 2, 1, 1))


@pytest.mark.parametrize("number", [7, 12, 13, 15, 99])
def test_attributes_that_hold_handles_are_refused(gpu: Cuda, number: int) -> None:
    attributes = ctypes.create_string_buffer(attribute(number, b""), RECORD)
    config = RuntimeConfig(Dim3(1, 1, 1), Dim3(1, 1, 1), 0, 0, ctypes.addressof(attributes), 1)
    assert gpu.cudaLaunchKernelExC(byref(config), Program(gpu).kernel(), NOTHING) == 801


def test_cooperative_launches_say_so(gpu: Cuda) -> None:
    kernel = Program(gpu).kernel()
    gpu.ok("cudaLaunchCooperativeKernel", kernel, ONE, ONE, NOTHING, c_size_t(0), c_uint64(0))
    assert launched(gpu).payload == attribute(2, struct.pack("<i", 1))
    gpu.ok("cuLaunchCooperativeKernel", kernel, 1, 1, 1, 1, 1, 1, 0, c_uint64(0), NOTHING)
    assert launched(gpu).payload == attribute(2, struct.pack("<i", 1))


def test_the_driver_takes_a_packed_buffer(gpu: Cuda) -> None:
    kernel = Program(gpu).kernel([(0, 8), (8, 4)])
    buffer, size = ctypes.create_string_buffer(bytes(range(16)), 16), c_size_t(12)
    extra = (c_void_p * 5)(1, ctypes.addressof(buffer), 2, ctypes.addressof(size), 0)
    grid = (2, 1, 1, 32, 1, 1, 0, c_uint64(0))
    gpu.ok("cuLaunchKernel", kernel, *grid, NOTHING, extra)
    op = launched(gpu)
    assert (op.fields["parameters"], op.payload[:12]) == (12, bytes(range(12)))
    size.value = 11
    assert gpu.cuLaunchKernel(kernel, *grid, NOTHING, extra) == 1
    bad = (c_void_p * 5)(9, ctypes.addressof(buffer), 2, ctypes.addressof(size), 0)
    assert gpu.cuLaunchKernel(kernel, *grid, NOTHING, bad) == 1
    assert gpu.cuLaunchKernel(kernel, *grid, pointers(c_uint64(1), c_int32(1)), extra) == 1


@pytest.mark.parametrize(
    ("shape", "shared", "statuses"),
    [
        ((0, 1, 1, 1, 1, 1), 0, (9, 1)),
        ((1, 65536, 1, 1, 1, 1), 0, (9, 1)),
        ((1, 1, 1, 1, 0, 1), 0, (9, 1)),
        ((1, 1, 1, 1, 1, 65), 0, (9, 1)),
        ((1, 1, 1, 64, 32, 1), 0, (9, 1)),
        ((1, 1, 1, 512, 1, 1), 0, (701, 701)),
        ((1, 1, 1, 1, 1, 1), 49153, (1, 1)),
    ],
)
def test_what_cannot_run_is_refused_at_the_call(
    gpu: Cuda, shape: tuple[int, ...], shared: int, statuses: tuple[int, int]
) -> None:
    kernel = Program(gpu).kernel(info=(256, *USUAL[1:]))
    assert launch(gpu, kernel, NOTHING, (Dim3(*shape[:3]), Dim3(*shape[3:])), shared) == statuses[0]
    assert gpu.cuLaunchKernel(kernel, *shape, shared, c_uint64(0), NOTHING, NOTHING) == statuses[1]
    assert "kernel_launch" not in [op.name for op in gpu.take()]


def cluster_of(*dimension: int, preferred: bool = False) -> bytes:
    return attribute(11 if preferred else 4, struct.pack("<III", *dimension))


def launch_with(gpu: Cuda, kernel: c_uint64, grid: Dim3, block: Dim3, *attributes: bytes) -> int:
    """By both APIs, which agree."""
    data = ctypes.create_string_buffer(b"".join(attributes))
    at, count = ctypes.addressof(data), len(attributes)
    runtime, driver = RuntimeConfig(grid, block, 0, 0, at, count), DriverConfig(grid, block, 0, 0, at, count)
    status = int(gpu.cudaLaunchKernelExC(byref(runtime), kernel, NOTHING))
    assert gpu.cuLaunchKernelEx(byref(driver), kernel, NOTHING, NOTHING) == status
    return status


def test_cooperative_launches_fit_on_the_device_at_once(gpu: Cuda) -> None:
    """The recording session says that as many blocks fit as a block has threads; the GPU has 132 multiprocessors."""
    kernel = Program(gpu).kernel()
    cooperative = attribute(2, struct.pack("<i", 1))
    assert launch_with(gpu, kernel, Dim3(64, 132, 1), Dim3(64, 1, 1), cooperative) == 0
    assert launch_with(gpu, kernel, Dim3(8449, 1, 1), Dim3(64, 1, 1), cooperative) == 720
    assert launch_with(gpu, kernel, Dim3(8449, 1, 1), Dim3(64, 1, 1), attribute(2, bytes(4))) == 0
    too_many = (Dim3(8449, 1, 1), Dim3(64, 1, 1), NOTHING, c_size_t(0), c_uint64(0))
    assert gpu.cudaLaunchCooperativeKernel(kernel, *too_many) == 720
    assert gpu.cuLaunchCooperativeKernel(kernel, 8449, 1, 1, 64, 1, 1, 0, c_uint64(0), NOTHING) == 720
    assert [op.name for op in gpu.take()][-5:] == ["function_query", *["kernel_launch"] * 4]  # asked once


def test_clusters_cover_the_grid(gpu: Cuda) -> None:
    kernel = Program(gpu).kernel()
    for grid, cluster in ((Dim3(6, 4, 2), (3, 2, 1)), (Dim3(8, 1, 1), (8, 1, 1)), (Dim3(7, 1, 1), (1, 1, 1))):
        assert launch_with(gpu, kernel, grid, ONE, cluster_of(*cluster)) == 0
    assert [op.name for op in gpu.take()].count("function_query") == 2  # none for clusters of one block
    for dimension in ((4, 1, 1), (1, 3, 1), (1, 1, 3), (0, 1, 1), (1, 0, 1)):
        assert launch_with(gpu, kernel, Dim3(6, 4, 2), ONE, cluster_of(*dimension)) == 912
    assert gpu.take() == []
    assert launch_with(gpu, kernel, Dim3(32, 1, 1), ONE, cluster_of(16, 1, 1)) == 912  # so the device says
    assert "kernel_launch" not in [op.name for op in gpu.take()]


def test_preferred_clusters_consist_of_clusters(gpu: Cuda) -> None:
    kernel = Program(gpu).kernel()
    regular, grid = cluster_of(2, 1, 1), Dim3(8, 1, 1)
    assert launch_with(gpu, kernel, grid, ONE, regular, cluster_of(4, 1, 1, preferred=True)) == 0
    for size in (3, 0, 16):
        assert launch_with(gpu, kernel, grid, ONE, regular, cluster_of(size, 1, 1, preferred=True)) == 912


def test_clusters_of_the_kernel_itself_are_the_devices_business(gpu: Cuda) -> None:
    """Its grid may be counted in clusters."""
    kernel = Program(gpu).kernel(info=(*USUAL[:11], 4, 1, 1, *USUAL[14:]))
    assert launch_with(gpu, kernel, Dim3(6, 1, 1), ONE, cluster_of(4, 1, 1)) == 0


def test_a_kernel_that_is_none_is_an_error(gpu: Cuda) -> None:
    assert launch(gpu, c_uint64(0x1234560), NOTHING) == 98
    assert launch(gpu, c_uint64(0), NOTHING) == 98
    assert gpu.cuLaunchKernel(c_uint64(0x1234560), 1, 1, 1, 1, 1, 1, 0, c_uint64(0), NOTHING, NOTHING) == 400
    assert gpu.library["__cudaGetKernel"](byref(c_uint64()), c_void_p(0x1234560)) == 98
    assert gpu.take() == []


def test_configurations_are_pushed_and_popped_per_thread(gpu: Cuda) -> None:
    push, pop = gpu.library["__cudaPushCallConfiguration"], gpu.library["__cudaPopCallConfiguration"]
    grid, block, shared, stream = Dim3(), Dim3(), c_size_t(), c_uint64()
    out = (byref(grid), byref(block), byref(shared), byref(stream))
    push(Dim3(3, 2, 1), Dim3(64, 1, 1), c_size_t(16), c_uint64(0))
    seen: list[int] = []
    thread = threading.Thread(target=lambda: seen.append(pop(*out)))
    thread.start()
    thread.join(30)
    assert seen == [52] and pop(*out) == 0
    assert ((grid.x, grid.y, grid.z), block.x, shared.value) == ((3, 2, 1), 64, 16)


def test_threads_launch_at_once_and_nothing_is_mixed_up(gpu: Cuda) -> None:
    program = Program(gpu)
    kernels = [program.kernel([(0, 4), (4, 4)]) for _ in range(3)]
    failed: list[int] = []

    def work(number: int) -> None:
        stream = gpu.make("cudaStreamCreateWithFlags", 1)
        for i in range(200):
            arguments = pointers(a := c_int32(number), b := c_int32(i))
            status = gpu.cudaLaunchKernel(
                kernels[i % 3], Dim3(1, 1, 1), Dim3(32, 1, 1), arguments, c_size_t(0), c_uint64(stream)
            )
            failed.extend([status] if status or (a.value, b.value) != (number, i) else [])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    by_stream: dict[int, list[bytes]] = {}
    for op in gpu.take():
        if op.name == "kernel_launch":
            by_stream.setdefault(op.stream, []).append(op.payload)
    assert not failed
    assert sorted(by_stream.values()) == [[struct.pack("<ii", n, i) for i in range(200)] for n in range(4)]
