"""cuBLAS and cuBLASLt become matmul ops."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_double, c_float, c_int, c_int32, c_int64, c_longlong, c_size_t, c_uint16, c_uint64, c_void_p
from typing import Any

from api_rig import Cuda
from interpose_types import Heuristic

INVALID_VALUE, NOT_SUPPORTED, NOT_INITIALIZED = 7, 15, 1
F32, F64, F16, BF16 = 0, 1, 2, 14
ONE, HALF_F = c_float(1), c_float(0.5)


def only_op(cuda: Cuda) -> dict[str, Any]:
    (op,) = cuda.take()
    assert op.name == "matmul"
    return op.fields


def chosen(fields: dict[str, Any], *names: str) -> tuple[Any, ...]:
    return tuple(fields[name] for name in names)


def test_the_hint_about_multiprocessors_is_accepted_and_not_sent(cuda: Cuda) -> None:
    handle = cuda.make("cublasCreate_v2")
    cuda.take()
    cuda.ok("cublasSetSmCountTarget", c_uint64(handle), 4)
    assert cuda.take() == []
    assert cuda.cublasSetSmCountTarget(c_uint64(handle), -1) == INVALID_VALUE
    assert cuda.cublasSetSmCountTarget(c_uint64(77), 4) == NOT_INITIALIZED


def test_sgemm_carries_shape_types_and_host_scalars(cuda: Cuda) -> None:
    handle, a, b, c = cuda.make("cublasCreate_v2"), cuda.malloc(4096), cuda.malloc(4096), cuda.malloc(4096)
    stream = cuda.make("cudaStreamCreateWithFlags", 1)
    cuda.ok("cublasSetStream_v2", c_uint64(handle), c_uint64(stream))
    cuda.take()
    cuda.ok(
        "cublasSgemm_v2",
        c_uint64(handle),
        1,
        0,
        4,
        5,
        6,
        byref(HALF_F),
        c_uint64(a),
        6,
        c_uint64(b),
        6,
        byref(ONE),
        c_uint64(c),
        4,
    )
    (op,) = cuda.take()
    fields = op.fields
    assert op.stream == stream
    assert chosen(fields, "m", "n", "k", "batch", "transpose_a", "transpose_b") == (4, 5, 6, 1, 1, 0)
    assert chosen(fields, "a", "lda", "b", "ldb", "c", "ldc", "d", "ldd") == (a, 6, b, 6, c, 4, c, 4)
    assert chosen(fields, "alpha", "beta", "compute", "scale_type", "type_a", "type_d", "epilogue") == (
        0.5,
        1,
        68,
        0,
        0,
        0,
        1,
    )


def test_scalars_in_device_memory_stay_there(cuda: Cuda) -> None:
    handle, a = cuda.make("cublasCreate_v2"), cuda.malloc(8192)
    args = (1, 0, 4, 4, 4)
    cuda.ok("cublasSetPointerMode_v2", c_uint64(handle), 1)
    cuda.take()
    cuda.ok(
        "cublasDgemm_v2",
        c_uint64(handle),
        *args,
        c_void_p(a),
        c_uint64(a),
        4,
        c_uint64(a),
        4,
        c_void_p(a + 8),
        c_uint64(a + 4096),
        4,
    )
    assert chosen(only_op(cuda), "alpha_address", "beta_address", "scale_type", "compute") == (a, a + 8, F64, 70)


def test_half_precision_with_single_precision_scalars_and_batches(cuda: Cuda) -> None:
    handle, a = cuda.make("cublasCreate_v2"), cuda.malloc(1 << 16)
    cuda.take()
    for dtype in (F16, BF16):
        cuda.ok(
            "cublasGemmStridedBatchedEx",
            c_uint64(handle),
            0,
            0,
            8,
            8,
            8,
            byref(HALF_F),
            c_uint64(a),
            dtype,
            8,
            c_longlong(64),
            c_uint64(a),
            dtype,
            8,
            c_longlong(0),
            byref(c_float(0)),
            c_uint64(a + 4096),
            dtype,
            8,
            c_longlong(64),
            3,
            68,
            -1,
        )
        fields = only_op(cuda)
        assert chosen(fields, "batch", "stride_a", "stride_b", "stride_c", "stride_d") == (3, 64, 0, 64, 64)
        assert chosen(fields, "type_a", "type_c", "scale_type", "alpha", "beta") == (dtype, dtype, F32, 0.5, 0)
    one_half = c_uint16(0x3800)
    cuda.ok(
        "cublasGemmEx",
        c_uint64(handle),
        0,
        0,
        8,
        8,
        8,
        byref(one_half),
        c_uint64(a),
        F16,
        8,
        c_uint64(a),
        F16,
        8,
        byref(one_half),
        c_uint64(a + 4096),
        F16,
        8,
        64,
        -1,
    )
    assert chosen(only_op(cuda), "alpha", "beta", "scale_type") == (0.5, 0.5, F16)


def test_operands_outside_their_allocation_are_refused(cuda: Cuda) -> None:
    handle, a = cuda.make("cublasCreate_v2"), cuda.malloc(4096)
    cuda.take()

    def gemm(on: int, n: int, lda: int, out: int) -> int:
        result = cuda.cublasSgemm_v2(
            c_uint64(on), 0, 0, 4, n, 4, byref(ONE), c_uint64(a), lda, c_uint64(a), 4, byref(ONE), c_uint64(out), 4
        )
        return int(result)

    assert gemm(handle, 1000, 4, a) == INVALID_VALUE
    assert gemm(handle, 4, 3, a) == INVALID_VALUE
    assert gemm(handle, 4, 4, 0x5000) == INVALID_VALUE
    assert gemm(handle + 256, 4, 4, a) == NOT_INITIALIZED
    assert gemm(handle, 0, 4, a) == 0  # nothing to do
    assert cuda.take() == []


def test_matrix_vector_and_dot_are_products_of_rows(cuda: Cuda) -> None:
    handle, a = cuda.make("cublasCreate_v2"), cuda.malloc(1 << 16)
    x, y = a + 0x4000, a + 0x8000
    cuda.take()
    cuda.ok(
        "cublasSgemv_v2",
        c_uint64(handle),
        0,
        6,
        5,
        byref(ONE),
        c_uint64(a),
        6,
        c_uint64(x),
        2,
        byref(ONE),
        c_uint64(y),
        3,
    )
    fields = only_op(cuda)
    # y' (1 x 6) = x' (1 x 5) * A' (5 x 6)
    assert chosen(fields, "m", "n", "k", "a", "lda", "b", "ldb", "transpose_b", "ldc") == (1, 6, 5, x, 2, a, 6, 1, 3)
    assert cuda.cublasSdot_v2(c_uint64(handle), 5, c_uint64(x), 1, c_uint64(y), 1, byref(c_float())) == NOT_SUPPORTED
    cuda.ok("cublasSetPointerMode_v2", c_uint64(handle), 1)
    cuda.ok("cublasDdot_v2", c_uint64(handle), 5, c_uint64(x), 1, c_uint64(y), 2, c_void_p(a))
    assert chosen(only_op(cuda), "m", "n", "k", "ldb", "transpose_b", "d", "alpha", "beta") == (1, 1, 5, 2, 1, a, 1, 0)


def layout(cuda: Cuda, rows: int, columns: int, dtype: int = F32) -> int:
    return cuda.make("cublasLtMatrixLayoutCreate", dtype, c_uint64(rows), c_uint64(columns), c_int64(rows))


def describe(cuda: Cuda, **attributes: tuple[int, Any]) -> int:
    desc = cuda.make("cublasLtMatmulDescCreate", 68, F32)
    for attribute, value in attributes.values():
        cuda.ok(
            "cublasLtMatmulDescSetAttribute", c_uint64(desc), attribute, byref(value), c_size_t(ctypes.sizeof(value))
        )
    return desc


def test_lt_product_with_bias_and_activation(cuda: Cuda) -> None:
    handle, a = cuda.make("cublasCreate_v2"), cuda.malloc(1 << 16)
    bias = a + 0x8000
    desc = describe(cuda, t=(3, c_int32(1)), e=(7, c_int32(36)), b=(8, c_uint64(bias)))
    la, lb, lc = layout(cuda, 6, 4), layout(cuda, 6, 5), layout(cuda, 4, 5)
    preference = cuda.make("cublasLtMatmulPreferenceCreate")
    results, count = (Heuristic * 4)(), c_int()
    shapes = tuple(map(c_uint64, (la, lb, lc, lc)))
    cuda.ok(
        "cublasLtMatmulAlgoGetHeuristic",
        c_uint64(handle),
        c_uint64(desc),
        *shapes,
        c_uint64(preference),
        4,
        results,
        byref(count),
    )
    assert (count.value, results[0].state, results[0].workspace) == (1, 0, 0)
    cuda.take()
    zero = c_float(0)
    cuda.ok(
        "cublasLtMatmul",
        c_uint64(handle),
        c_uint64(desc),
        byref(ONE),
        c_uint64(a),
        shapes[0],
        c_uint64(a),
        shapes[1],
        byref(zero),
        c_uint64(a + 4096),
        shapes[2],
        c_uint64(a + 4096),
        shapes[3],
        byref(results[0]),
        c_uint64(0),
        c_size_t(0),
        c_uint64(0),
    )
    fields = only_op(cuda)
    assert chosen(fields, "m", "n", "k", "transpose_a", "epilogue", "bias", "type_bias") == (4, 5, 6, 1, 36, bias, F32)


def test_lt_refuses_what_would_change_the_result(cuda: Cuda) -> None:
    handle = cuda.make("cublasLtCreate")
    shapes = tuple(map(c_uint64, (layout(cuda, 4, 4), layout(cuda, 4, 4), layout(cuda, 4, 4), layout(cuda, 4, 4))))
    preference = c_uint64(cuda.make("cublasLtMatmulPreferenceCreate"))
    results, count = (Heuristic * 1)(), c_int(9)

    def ask(desc: int, of: tuple[c_uint64, ...] = shapes) -> int:
        return int(
            cuda.cublasLtMatmulAlgoGetHeuristic(
                c_uint64(handle), c_uint64(desc), *of, preference, 1, results, byref(count)
            )
        )

    assert ask(describe(cuda, scale=(17, c_uint64(1)))) == NOT_SUPPORTED  # a scale for the A operand
    assert ask(describe(cuda, epilogue=(7, c_int32(152)))) == NOT_SUPPORTED
    assert count.value == 0
    plain = describe(cuda)
    assert ask(plain, (c_uint64(layout(cuda, 4, 3)), *shapes[1:])) == INVALID_VALUE
    assert ask(plain, (c_uint64(handle), *shapes[1:])) == INVALID_VALUE
    assert ask(plain) == 0
    cuda.ok("cublasLtMatmulDescDestroy", c_uint64(plain))
    assert ask(plain) == INVALID_VALUE


def test_double_precision_scalars(cuda: Cuda) -> None:
    handle, a = cuda.make("cublasCreate_v2"), cuda.malloc(8192)
    cuda.take()
    cuda.ok(
        "cublasDgemm_v2",
        c_uint64(handle),
        0,
        0,
        4,
        4,
        4,
        byref(c_double(1 / 3)),
        c_uint64(a),
        4,
        c_uint64(a),
        4,
        byref(c_double(0)),
        c_uint64(a + 4096),
        4,
    )
    assert only_op(cuda)["alpha"] == 1 / 3
