"""On a device with kernels a cuBLAS call reaches the worker as the call it is: op ``library_call``, slot by slot."""

from __future__ import annotations

import ctypes
import struct
from ctypes import byref, c_double, c_float, c_int32, c_int64, c_size_t, c_uint16, c_uint64, c_void_p
from typing import Any

import pytest
from api_rig import Cuda, Recorded
from interpose_call_ops import Slot, sent

from jitc.interpose.generator.blas_visitor import forwarded
from jitc.interpose.generator.call_visitor import identifier
from jitc.interpose.spec.api import Argument, Function

SUCCESS, NOT_INITIALIZED, INVALID_VALUE, EXECUTION_FAILED, NOT_SUPPORTED = 0, 1, 7, 13, 15
NONE_AT_ALL = 2**64 - 1
CALLS = {function.name: function for function in forwarded()}


def slots(op: Recorded) -> list[Slot]:
    assert op.fields["objects"] == op.fields["described"] == 0
    return list(sent(op).slots)


def number(value: int) -> Slot:
    return "number", value


def address(value: int) -> Slot:
    return "address", value


def scalar(value: bytes) -> Slot:
    return "scalar", value


def call(gpu: Cuda, name: str, handle: int, *arguments: Any) -> Recorded:
    """Makes the call; the one op that it becomes."""
    gpu.take()
    gpu.ok(name, c_uint64(handle), *arguments)
    (op,) = gpu.take()
    found = sent(op).call
    assert found
    assert (op.name, op.fields["handle"], found.function) == ("library_call", handle, name)
    return op


def test_names_of_functions_are_hashed_with_fnv_1a() -> None:
    assert (identifier(""), identifier("a"), identifier("foobar")) == (0x811C9DC5, 0xE40C292C, 0xBF9CF968)


def test_sgemm_with_scalars_on_the_host(gpu: Cuda) -> None:
    handle, stream = gpu.make("cublasCreate_v2"), gpu.make("cudaStreamCreateWithFlags", 1)
    gpu.ok("cublasSetStream_v2", c_uint64(handle), c_uint64(stream))
    a, b, c = (c_uint64(0x1111), c_uint64(0x2222), c_uint64(0x3333))
    shape = (1, 0, 4, 5, 6)
    op = call(gpu, "cublasSgemm_v2", handle, *shape, byref(c_float(0.5)), a, 6, b, 7, byref(c_float(-2)), c, 8)
    assert op.stream == stream
    half, minus_two = scalar(struct.pack("<f", 0.5)), scalar(struct.pack("<f", -2))
    rest = [half, address(0x1111), number(6), address(0x2222), number(7), minus_two, address(0x3333), number(8)]
    assert slots(op) == [*map(number, shape), *rest]


def test_scalars_in_device_memory_travel_as_addresses(gpu: Cuda) -> None:
    handle, a = gpu.make("cublasCreate_v2"), gpu.malloc(4096)
    gpu.ok("cublasSetPointerMode_v2", c_uint64(handle), 1)
    (mode,) = [op for op in gpu.take() if op.name == "blas_set"]
    assert (mode.fields["handle"], mode.fields["field"], mode.fields["mode"]) == (handle, 1, 1)
    operands = (c_void_p(a), c_uint64(a), 4, c_uint64(a), 4, c_void_p(a + 8), c_uint64(a), 4)
    op = call(gpu, "cublasDgemm_v2", handle, 0, 0, 4, 4, 4, *operands)
    assert slots(op)[5] == address(a) and slots(op)[10] == address(a + 8)


@pytest.mark.parametrize(
    ("compute", "type_c", "width"),
    [(68, 14, 4), (68, 4, 8), (64, 2, 2), (70, 1, 8), (70, 5, 16), (72, 10, 4), (77, 0, 4), (65, 6, 4)],
)
def test_the_width_of_untyped_scalars_follows_from_the_compute_type(
    gpu: Cuda, compute: int, type_c: int, width: int
) -> None:
    handle = gpu.make("cublasCreate_v2")
    alpha, beta = (ctypes.create_string_buffer(bytes(range(first, first + 16)), 16) for first in (1, 101))
    x = c_uint64(0x1000)
    for name, strides in (("cublasGemmEx", False), ("cublasGemmStridedBatchedEx", True)):
        stride, batch = ((c_int64(1 << 40),), (3,)) if strides else ((), ())
        matrix = (x, type_c, 4, *stride)
        op = call(gpu, name, handle, 0, 0, 4, 4, 4, alpha, *matrix, *matrix, beta, *matrix, *batch, compute, -1)
        given = [value for kind, value in slots(op) if kind == "scalar"]
        assert given == [bytes(range(1, 1 + width)), bytes(range(101, 101 + width))]
        assert slots(op)[-2:] == [number(compute), number(-1)]
        assert (number(1 << 40) in slots(op)) == strides
    batched = (x, type_c, 4)
    op = call(
        gpu, "cublasGemmBatchedEx", handle, 0, 0, 4, 4, 4, alpha, *batched, *batched, beta, *batched, 9, compute, 0
    )
    assert slots(op)[5] == scalar(bytes(range(1, 1 + width))) and slots(op)[-3] == number(9)


def test_an_unknown_compute_type_is_refused(gpu: Cuda) -> None:
    handle, one, matrix = gpu.make("cublasCreate_v2"), c_float(1), (c_uint64(0x1000), 0, 4)
    gpu.take()
    arguments = (byref(one), *matrix, *matrix, byref(one), *matrix, 999, 0)
    assert gpu.cublasGemmEx(c_uint64(handle), 0, 0, 4, 4, 4, *arguments) == NOT_SUPPORTED
    assert gpu.take() == []


def test_a_result_for_the_host_is_fetched_and_one_for_the_device_is_not(gpu: Cuda) -> None:
    handle, stream = gpu.make("cublasCreate_v2"), gpu.make("cudaStreamCreateWithFlags", 1)
    gpu.ok("cublasSetStream_v2", c_uint64(handle), c_uint64(stream))
    x, result = gpu.malloc(4096), c_double(5)
    gpu.take()
    for _ in range(2):
        result.value = 5
        gpu.ok("cublasDdot_v2", c_uint64(handle), 7, c_uint64(x), 1, c_uint64(x), 2, byref(result))
        *made, dot, fetch = gpu.take()
        assert [op.name for op in made] in (["allocate"], [])
        assert (dot.name, fetch.name, dot.stream, fetch.stream) == ("library_call", "copy_d2h", stream, stream)
        assert slots(dot)[-1] == address(fetch.fields["address"]) and fetch.fields["bytes"] == 8
        assert result.value == 0  # fresh memory of the fake
    gpu.ok("cublasSetPointerMode_v2", c_uint64(handle), 1)
    op = call(gpu, "cublasDdot_v2", handle, 7, c_uint64(x), 1, c_uint64(x), 2, c_void_p(x + 64))
    assert slots(op) == [number(7), address(x), number(1), address(x), number(2), address(x + 64)]
    gpu.ok("cublasSetPointerMode_v2", c_uint64(handle), 0)
    assert gpu.cublasDdot_v2(c_uint64(handle), 7, c_uint64(x), 1, c_uint64(x), 2, c_void_p(x)) == INVALID_VALUE


def test_a_host_status_is_good_and_has_no_slot(gpu: Cuda) -> None:
    handle, info = gpu.make("cublasCreate_v2"), c_int32(77)
    op = call(gpu, "cublasSgeqrfBatched", handle, 5, 4, c_uint64(1), 5, c_uint64(2), byref(info), 3)
    assert slots(op) == [number(5), number(4), address(1), number(5), address(2), number(3)]
    assert info.value == 0


def value_of(argument: Argument, position: int, memory: int, keep: list[Any]) -> tuple[Any, Slot]:
    """An argument that no other is equal to, and the slot that it should travel in from the host."""
    if argument.type in ("count", "leading"):  # a valid one
        value = position if argument.type == "count" else 1000 + position
        return c_int32(value), number(value)
    if argument.type in ("int", "enum", "increment") and not argument.direction:
        return c_int32(-position), number(-position)
    if argument.type == "i64":
        return c_int64(-(position << 40)), number(-(position << 40))
    if argument.type == "address":
        return c_uint64(memory + position), address(memory + position)
    data = bytes((position * 16 + at) % 251 + 1 for at in range(16))
    keep.append(ctypes.create_string_buffer(data, 16))
    widths = {"half": 2, "float": 4, "int": 4, "double": 8, "complex": 8, "double_complex": 16}
    return keep[-1], scalar(data[: widths.get(argument.type, 0)])


@pytest.mark.parametrize("on_device", [False, True])
def test_every_function_marshals_its_arguments_in_order(gpu: Cuda, on_device: bool) -> None:
    handle, memory = gpu.make("cublasCreate_v2"), gpu.malloc(1 << 16)
    gpu.ok("cublasSetPointerMode_v2", c_uint64(handle), int(on_device))
    for function in CALLS.values():
        if any(a.type == "scalar" for a in function.args):
            continue  # their types are told by other arguments: see above
        expect_call(gpu, function, handle, memory, on_device)


def expect_call(gpu: Cuda, function: Function, handle: int, memory: int, on_device: bool) -> None:
    keep: list[Any] = []
    given: list[Any] = []
    expected: list[Slot] = []
    for position, argument in enumerate(function.args[1:], 1):
        value, slot = value_of(argument, position, memory, keep)
        if argument.direction and argument.type != "info" and on_device:
            value, slot = c_uint64(memory + 64 * position), address(memory + 64 * position)
        given.append(value)
        if argument.type != "info":
            expected.append(slot)
    gpu.take()
    gpu.ok(function.name, c_uint64(handle), *given)
    (op,) = [op for op in gpu.take() if op.name == "library_call"]
    found = sent(op)
    assert found.call
    assert found.call.function == function.name
    assert len(found.slots) == len(expected), function.name
    for argument, got, want in zip(
        [a for a in function.args[1:] if a.type != "info"], found.slots, expected, strict=True
    ):
        if argument.direction == "out" and not on_device:
            assert got[0] == "address"  # memory of the library's own
        else:
            assert got == want, (function.name, argument.name)


def test_modes_are_told_once_and_the_workspace_when_it_is_another_one(gpu: Cuda) -> None:
    gpu.take()
    handle = gpu.make("cublasCreate_v2")
    (made,) = gpu.take()
    assert (made.name, made.fields["handle"]) == ("blas_create", handle)
    gpu.ok("cublasSetMathMode", c_uint64(handle), 3)
    gpu.ok("cublasSetMathMode", c_uint64(handle), 3)
    gpu.ok("cublasSetAtomicsMode", c_uint64(handle), 1)
    told = [(op.name, op.fields["field"], op.fields["mode"]) for op in gpu.take()]
    assert told == [("blas_set", 0, 3), ("blas_set", 2, 1)]
    work = gpu.malloc(1 << 20)
    gpu.take()

    def sends(*do: tuple[Any, ...]) -> list[tuple[int, int]]:
        for name, *arguments in do:
            gpu.ok(name, c_uint64(handle), *arguments)
        gpu.ok("cublasScopy_v2", c_uint64(handle), 1, c_uint64(work), 1, c_uint64(work), 1)
        *sets, last = gpu.take()
        assert last.name == "library_call" and all(op.fields["field"] == 3 for op in sets)
        return [(op.fields["address"], op.fields["bytes"]) for op in sets]

    stream, mine = ("cublasSetStream_v2", c_uint64(0)), ("cublasSetWorkspace_v2", c_uint64(work), c_size_t(1 << 20))
    none = ("cublasSetWorkspace_v2", c_uint64(0), c_size_t(0))
    assert sends(stream) == []
    assert sends(stream, mine) == [(work, 1 << 20)]
    assert sends(stream, mine) == [] and sends() == []  # as PyTorch does before every call
    assert sends(stream) == [(0, 0)]  # the library's own again
    assert sends(none) == [(0, NONE_AT_ALL)]
    assert gpu.cublasSetWorkspace_v2(c_uint64(handle), c_uint64(work + 8), c_size_t(256)) == INVALID_VALUE
    gpu.ok("cublasDestroy_v2", c_uint64(handle))
    assert [(op.name, op.fields["handle"]) for op in gpu.take()] == [("blas_destroy", handle)]
    assert gpu.cublasScopy_v2(c_uint64(handle), 1, c_uint64(work), 1, c_uint64(work), 1) == NOT_INITIALIZED


def test_a_listener_knows_which_memory_is_a_workspace(gpu: Cuda) -> None:
    told: list[tuple[int, int, int]] = []
    listener = ctypes.CFUNCTYPE(None, c_uint64, c_size_t, ctypes.c_int)(lambda *of: told.append(of))
    handle, one, other = gpu.make("cublasCreate_v2"), gpu.malloc(1 << 20), gpu.malloc(1 << 20)
    gpu.jitc_set_workspace_listener(listener)
    try:
        for address in (one, one, other):
            gpu.ok("cublasSetStream_v2", c_uint64(handle), c_uint64(0))
            gpu.ok("cublasSetWorkspace_v2", c_uint64(handle), c_uint64(address), c_size_t(1 << 20))
        assert told == [(one, 1 << 20, 1), (one, 1 << 20, 0), (other, 1 << 20, 1)]
        gpu.ok("cublasDestroy_v2", c_uint64(handle))
        assert told[3:] == [(other, 1 << 20, 0)]
    finally:
        gpu.jitc_set_workspace_listener(None)


def test_wrong_calls_submit_nothing(gpu: Cuda) -> None:
    handle, a, one = gpu.make("cublasCreate_v2"), gpu.malloc(4096), c_float(1)
    gpu.ok("cudaSetDevice", 1)
    elsewhere = gpu.make("cudaStreamCreateWithFlags", 1)
    gpu.ok("cudaSetDevice", 0)
    gpu.take()

    def gemm(on: int, alpha: Any) -> int:
        matrix = (c_uint64(a), 4)
        return int(gpu.cublasSgemm_v2(c_uint64(on), 0, 0, 4, 4, 4, alpha, *matrix, *matrix, byref(one), *matrix))

    assert gemm(handle + 256, byref(one)) == NOT_INITIALIZED
    assert gemm(handle, None) == INVALID_VALUE
    assert gemm(handle, c_void_p(a)) == INVALID_VALUE  # a device address, but scalars are on the host
    gpu.ok("cublasSetStream_v2", c_uint64(handle), c_uint64(elsewhere))
    assert gemm(handle, byref(one)) == INVALID_VALUE  # another device's stream
    gpu.ok("cublasSetStream_v2", c_uint64(handle), c_uint64(0))
    gpu.jitc_fake_over(999)
    assert gemm(handle, byref(one)) == EXECUTION_FAILED
    gpu.jitc_fake_over(0)
    assert gpu.take() == []
    assert gpu.cublasSrotg_v2(c_uint64(handle)) == NOT_SUPPORTED


#: op(A) is 4 x 6, op(B) 6 x 5: transposes, m, n, k, and the leading dimensions of A, B and C.
PRODUCT = {"ta": 0, "tb": 0, "m": 4, "n": 5, "k": 6, "lda": 4, "ldb": 6, "ldc": 4}


@pytest.mark.parametrize(
    "wrong",
    [
        {"m": -1}, {"n": -1}, {"k": -1}, {"lda": 3}, {"ldb": 5}, {"ldc": 3}, {"ta": 1, "lda": 5},
        {"tb": 2, "ldb": 4}, {"m": 0, "lda": 0}, {"batch": -1},
    ],
    ids=str,
)  # fmt: skip
def test_sizes_out_of_range_are_refused_at_once(gpu: Cuda, wrong: dict[str, int]) -> None:
    """As cuBLAS documents it: the caller gets the status, the device never hears of it."""
    handle, one, x = gpu.make("cublasCreate_v2"), byref(c_float(1)), c_uint64(0x1000)

    def gemm(**changes: int) -> int:
        size, batch = PRODUCT | changes, changes.get("batch", 1)
        shape = [size[name] for name in ("ta", "tb", "m", "n", "k")]
        a, b, c = ((x, size[f"ld{name}"], c_int64(64)) for name in "abc")
        return int(gpu.cublasSgemmStridedBatched(c_uint64(handle), *shape, one, *a, *b, one, *c, batch))

    gpu.take()
    assert gemm(**wrong) == INVALID_VALUE
    assert gpu.take() == []
    for good in ({}, {"ta": 1, "lda": 6}, {"tb": 1, "ldb": 5}, {"m": 0}, {"k": 0, "ldb": 1}, {"batch": 0}):
        assert gemm(**good) == SUCCESS, good
        assert [op.name for op in gpu.take()] == ["library_call"]


def test_an_increment_of_zero_is_refused_where_cublas_does(gpu: Cuda) -> None:
    handle, one, x = gpu.make("cublasCreate_v2"), byref(c_float(1)), c_uint64(0x1000)

    def gemv(m: int, lda: int, incx: int, incy: int) -> int:
        shape = (0, m, 5, one, x, lda, x, incx, one, x, incy)
        return int(gpu.cublasSgemv_v2(c_uint64(handle), *shape))

    gpu.take()
    wrong = ((4, 4, 0, 1), (4, 4, 1, 0), (4, 3, 1, 1), (-1, 4, 1, 1))
    assert [gemv(*one) for one in wrong] == [INVALID_VALUE] * 4
    assert gpu.take() == []
    assert gemv(4, 4, -1, 1) == SUCCESS
    assert gpu.cublasScopy_v2(c_uint64(handle), 4, x, 0, x, 1) == SUCCESS  # reads one element again and again


def test_the_software_device_refuses_what_needs_kernels(cuda: Cuda) -> None:
    handle, a = cuda.make("cublasCreate_v2"), cuda.malloc(4096)
    cuda.take()
    assert cuda.cublasScopy_v2(c_uint64(handle), 1, c_uint64(a), 1, c_uint64(a), 1) == NOT_SUPPORTED
    half, matrix = c_uint16(0), (c_uint64(a), 4)
    arguments = (byref(half), *matrix, *matrix, byref(half), *matrix, 1)
    assert cuda.cublasHgemmBatched(c_uint64(handle), 0, 0, 4, 4, 4, *arguments) == NOT_SUPPORTED
    assert cuda.take() == []
