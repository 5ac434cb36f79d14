"""The fake driver's modules and kernels: images, parameters in both forms, variables, faults."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest
from fake_driver import Driver, fat, image
from toolkit.fakes import fake_calls

INVALID, INVALID_IMAGE, NO_BINARY, INVALID_HANDLE, NOT_FOUND, NOT_READY = 1, 200, 209, 400, 500, 600
ILLEGAL_ADDRESS, MISALIGNED, ASSERT, DESTROYED, TOO_LARGE, BAD_CLUSTER = 700, 716, 710, 709, 720, 912
COOPERATIVE, CLUSTER, PREFERRED = 2, 4, 11  # CUlaunchAttributeID


@pytest.mark.parametrize("wrap", [bytes, fat])
def test_images_with_and_without_a_fat_header(driver: Driver, wrap: type[bytes]) -> None:
    module = driver.make("cuModuleLoadData", wrap(image("kernel fill_f32", "kernel _Z4fillPf fill_f32")))
    first, second = driver.function(module, "fill_f32"), driver.function(module, "_Z4fillPf")
    assert first != second and driver.function(module, "fill_f32") == first
    name = ctypes.c_char_p()
    driver.ok("cuFuncGetName", ctypes.byref(name), ctypes.c_void_p(second))
    assert name.value == b"_Z4fillPf"
    out = ctypes.c_uint64()
    assert driver.cuModuleGetFunction(ctypes.byref(out), ctypes.c_void_p(module), b"other") == NOT_FOUND


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"ELF", INVALID_IMAGE), (image("kernel nobody_knows"), NO_BINARY), (image("global x"), INVALID_IMAGE)],
)
def test_bad_images(driver: Driver, content: bytes, code: int) -> None:
    out = ctypes.c_uint64()
    assert driver.cuModuleLoadData(ctypes.byref(out), content) == code


def test_parameters_one_by_one(driver: Driver, fake_log: Path) -> None:
    stream, place, function = driver.stream(), driver.allocate(64), driver.kernel("fill_f32")
    values = (ctypes.c_uint64(place), ctypes.c_float(2.5), ctypes.c_uint64(4))
    pointers = (ctypes.c_void_p * 3)(*(ctypes.addressof(each) for each in values))
    arguments = (2, 1, 1, 32, 1, 1, 0, ctypes.c_void_p(stream), pointers, None)
    driver.ok("cuLaunchKernel", ctypes.c_void_p(function), *arguments)
    driver.synchronize(stream)
    assert struct.unpack("4f", driver.read(place, 16)) == (2.5,) * 4
    launch = next(each for each in fake_calls(fake_log) if each.name == "cuLaunchKernel")
    assert bytes.fromhex(launch.args["parameters"]) == struct.pack("<QfxxxxQ", place, 2.5, 4)
    assert struct.unpack("7I", bytes.fromhex(launch.args["shape"])) == (2, 1, 1, 32, 1, 1, 0)


def test_parameters_in_a_buffer_keep_an_odd_structure(driver: Driver) -> None:
    stream, place, function = driver.stream(), driver.allocate(24), driver.kernel("struct_args")
    infos = []
    for index in range(2):
        offset, size = ctypes.c_size_t(), ctypes.c_size_t()
        arguments = (ctypes.c_size_t(index), ctypes.byref(offset), ctypes.byref(size))
        driver.ok("cuFuncGetParamInfo", ctypes.c_void_p(function), *arguments)
        infos.append((offset.value, size.value))
    assert infos == [(0, 13), (16, 8)]
    beyond = (ctypes.c_size_t(2), ctypes.byref(ctypes.c_size_t()), ctypes.byref(ctypes.c_size_t()))
    assert driver.cuFuncGetParamInfo(ctypes.c_void_p(function), *beyond) == INVALID
    parameters = struct.pack("<BIQ3xQ", 7, 0xDEADBEEF, 1 << 60, place)
    assert driver.launch(function, stream, parameters[:-1]) == INVALID  # too short
    assert driver.launch(function, stream, parameters) == 0
    driver.synchronize(stream)
    assert struct.unpack("3Q", driver.read(place, 24)) == (7, 0xDEADBEEF, 1 << 60)


def test_kernels_run_in_stream_order(driver: Driver) -> None:
    stream, place = driver.stream(), driver.allocate(32)
    x, y = place, place + 16
    module = driver.load("kernel fill_f32", "kernel axpy_f32")
    fill, axpy = driver.function(module, "fill_f32"), driver.function(module, "axpy_f32")
    assert driver.launch(fill, stream, struct.pack("<QfxxxxQ", x, 3, 4)) == 0
    assert driver.launch(fill, stream, struct.pack("<QfxxxxQ", y, 1, 4)) == 0
    assert driver.launch(axpy, stream, struct.pack("<QQfxxxxQ", y, x, 2, 4)) == 0
    driver.synchronize(stream)
    assert struct.unpack("4f", driver.read(y, 16)) == (7.0,) * 4


def test_the_shape_of_a_launch(driver: Driver) -> None:
    stream, place, function = driver.stream(), driver.allocate(56), driver.kernel("shape_of")
    parameters = struct.pack("<Q", place)
    assert driver.launch(function, stream, parameters, (1, 2, 3, 4, 5, 6, 50000)) == INVALID  # too much shared memory
    driver.ok("cuFuncSetAttribute", ctypes.c_void_p(function), 8, 100000)
    assert driver.launch(function, stream, parameters, (1, 2, 3, 4, 5, 6, 50000)) == 0
    assert driver.launch(function, stream, parameters, (1, 1, 1, 1024, 2, 1, 0)) == INVALID
    driver.synchronize(stream)
    assert struct.unpack("7Q", driver.read(place, 56)) == (1, 2, 3, 4, 5, 6, 50000)


@pytest.mark.parametrize(
    ("blocks", "attributes", "code"),
    [
        (132 * 8, [(COOPERATIVE, 1)], 0),
        (132 * 8 + 1, [(COOPERATIVE, 1)], TOO_LARGE),
        (132 * 8 + 1, [(COOPERATIVE, 0)], 0),
        (8, [(CLUSTER, 8, 1, 1)], 0),
        (16, [(CLUSTER, 16, 1, 1)], BAD_CLUSTER),
        (7, [(CLUSTER, 2, 1, 1)], BAD_CLUSTER),
        (8, [(CLUSTER, 2, 0, 1)], BAD_CLUSTER),
        (8, [(CLUSTER, 2, 1, 1), (PREFERRED, 4, 1, 1)], 0),
        (8, [(CLUSTER, 2, 1, 1), (PREFERRED, 3, 1, 1)], BAD_CLUSTER),
        (1, [(17, 1)], INVALID),
    ],
)
def test_launches_that_cannot_be(driver: Driver, blocks: int, attributes: Sequence[tuple[int, ...]], code: int) -> None:
    """What cuda.h says of CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE and of CUlaunchAttributeValue."""
    stream, function = driver.stream(), ctypes.c_void_p(driver.kernel("empty"))
    records = [
        struct.pack("<II64s", number, 0, struct.pack(f"<{len(value)}I", *value)) for number, *value in attributes
    ]
    data = ctypes.create_string_buffer(b"".join(records))
    config = struct.pack("<7I4xQQI4x", blocks, 1, 1, 256, 1, 1, 0, stream, ctypes.addressof(data), len(records))
    assert driver.cuLaunchKernelEx(config, function, None, None) == code
    driver.synchronize(stream)  # nothing is broken


def test_cooperative_launches_have_a_function_of_their_own(driver: Driver) -> None:
    stream, function = ctypes.c_void_p(driver.stream()), ctypes.c_void_p(driver.kernel("empty"))
    for blocks, code in ((132 * 8, 0), (132 * 8 + 1, TOO_LARGE)):
        assert driver.cuLaunchCooperativeKernel(function, blocks, 1, 1, 256, 1, 1, 0, stream, None) == code


def test_variables_of_a_module(driver: Driver) -> None:
    stream, module = driver.stream(), driver.load("kernel bump_global", "global counter 8")
    address, size = ctypes.c_uint64(), ctypes.c_size_t()
    out = (ctypes.byref(address), ctypes.byref(size), ctypes.c_void_p(module))
    assert driver.cuModuleGetGlobal_v2(*out, b"none") == NOT_FOUND
    driver.ok("cuModuleGetGlobal_v2", *out, b"counter")
    function = driver.function(module, "bump_global")
    for _ in range(3):
        assert driver.launch(function, stream) == 0
    driver.synchronize(stream)
    assert size.value == 8 and driver.read(address.value, 8) == (3).to_bytes(8, "little")
    driver.ok("cuModuleUnload", ctypes.c_void_p(module))
    assert driver.launch(function, stream) == INVALID_HANDLE


@pytest.mark.parametrize(("kernel", "code"), [("illegal", ILLEGAL_ADDRESS), ("assert_fail", ASSERT)])
def test_faults_are_sticky(driver: Driver, kernel: str, code: int) -> None:
    stream, other = driver.stream(), driver.stream()
    assert driver.launch(driver.kernel(kernel), stream) == 0
    assert driver.cuStreamSynchronize(ctypes.c_void_p(stream)) == code
    out = ctypes.c_uint64()
    assert driver.query(other) == code and driver.cuModuleLoadData(ctypes.byref(out), image()) == code


@pytest.mark.parametrize(("shift", "code"), [(1 << 30, ILLEGAL_ADDRESS), (2, MISALIGNED)])
def test_a_wrong_pointer_is_found_by_the_kernel(driver: Driver, shift: int, code: int) -> None:
    stream, place = driver.stream(), driver.allocate(16)
    assert driver.launch(driver.kernel("fill_f32"), stream, struct.pack("<QfxxxxQ", place + shift, 1, 1)) == 0
    assert driver.cuStreamSynchronize(ctypes.c_void_p(stream)) == code


def test_an_endless_kernel_ends_with_its_context(driver: Driver) -> None:
    stream = driver.stream()
    assert driver.launch(driver.kernel("endless"), stream) == 0
    assert driver.query(stream) == NOT_READY
    driver.ok("cuDevicePrimaryCtxReset_v2", 0)
    assert driver.query(stream) == DESTROYED


def test_a_kernel_waits_for_a_flag(driver: Driver) -> None:
    stream = driver.stream()
    flag = driver.make("cuMemHostAlloc", ctypes.c_size_t(8), 2)
    ctypes.memset(flag, 0, 8)
    assert driver.launch(driver.kernel("wait_flag"), stream, struct.pack("<QQ", flag, 9)) == 0
    assert driver.query(stream) == NOT_READY
    ctypes.c_uint64.from_address(flag).value = 9
    driver.synchronize(stream)


def test_occupancy(driver: Driver) -> None:
    function, blocks = ctypes.c_void_p(driver.kernel("fill_f32")), ctypes.c_int()
    occupancy = driver.cuOccupancyMaxActiveBlocksPerMultiprocessor
    assert occupancy(ctypes.byref(blocks), function, 256, ctypes.c_size_t(0)) == 0 and blocks.value == 8
    assert occupancy(ctypes.byref(blocks), function, 2048, ctypes.c_size_t(0)) == 0 and blocks.value == 0
    assert occupancy(ctypes.byref(blocks), function, 0, ctypes.c_size_t(0)) == INVALID
