"""Tensor maps: what travels, equal arguments are asked for once, what is wrong."""

from __future__ import annotations

import struct
from ctypes import c_char, c_int32, c_uint32, c_uint64

import pytest
from api_rig import Cuda

INVALID_VALUE, NOT_SUPPORTED = 1, 801
TYPE, INTERLEAVE, SWIZZLE, PROMOTION, FILL = 7, 0, 3, 2, 1
FORM = (INTERLEAVE, SWIZZLE, PROMOTION, FILL)


def tiled(cuda: Cuda, address: int, rank: int = 2, first: int = 64) -> tuple[int, bytes]:
    out = (c_char * 128)()
    dims, strides = (c_uint64 * 5)(first, 32, 8, 4, 2), (c_uint64 * 4)(256, 512, 1024, 2048)
    box, steps = (c_uint32 * 5)(16, 8, 4, 2, 1), (c_uint32 * 5)(1, 1, 1, 1, 1)
    status = cuda.cuTensorMapEncodeTiled(out, TYPE, rank, c_uint64(address), dims, strides, box, steps, *FORM)
    return status, out.raw


def test_equal_arguments_are_asked_for_once(gpu: Cuda) -> None:
    status, first = tiled(gpu, 0x1000)
    (asked,) = gpu.take()
    assert (status, asked.name) == (0, "tensor_map")
    fields = asked.fields
    assert (fields["address"], fields["kind"], fields["rank"], fields["type"]) == (0x1000, 0, 2, TYPE)
    assert tuple(fields[one] for one in ("interleave", "swizzle", "promotion", "fill")) == FORM
    assert struct.unpack("<16Q", fields["sizes"]) == (64, 32, 0, 0, 0, 256, *([0] * 10))
    assert struct.unpack("<10I6i", fields["boxes"]) == (16, 8, 0, 0, 0, 1, 1, 0, 0, 0, *([0] * 6))
    assert first == fields["sizes"]
    assert tiled(gpu, 0x1000) == (0, first)
    assert gpu.take() == []
    assert tiled(gpu, 0x1000, first=65)[0] == 0 and tiled(gpu, 0x2000)[0] == 0
    assert [op.name for op in gpu.take()] == ["tensor_map"] * 2


def test_a_map_of_columns(gpu: Cuda) -> None:
    out = (c_char * 128)()
    dims, strides = (c_uint64 * 4)(8, 16, 16, 4), (c_uint64 * 3)(64, 128, 256)
    lower, upper, steps = (c_int32 * 2)(-1, -2), (c_int32 * 2)(1, 2), (c_uint32 * 4)(1, 2, 2, 1)
    gpu.ok(
        "cuTensorMapEncodeIm2col", out, TYPE, 4, c_uint64(0x3000), dims, strides, lower, upper, 8, 32, steps, *FORM
    )  # fmt: skip
    (asked,) = gpu.take()
    assert [asked.fields[one] for one in ("kind", "rank", "channels", "pixels")] == [1, 4, 8, 32]
    assert struct.unpack("<10I6i", asked.fields["boxes"]) == (0, 0, 0, 0, 0, 1, 2, 2, 1, 0, -1, -2, 0, 1, 2, 0)


def test_what_is_wrong_is_not_kept(gpu: Cuda) -> None:
    for _ in range(2):
        assert tiled(gpu, 0x1008)[0] == INVALID_VALUE
    assert len(gpu.take()) == 2
    for rank in (0, 6):
        assert tiled(gpu, 0x1000, rank)[0] == INVALID_VALUE
    assert gpu.take() == []


def test_only_where_kernels_run(cuda: Cuda) -> None:
    assert tiled(cuda, 0x1000)[0] == NOT_SUPPORTED


@pytest.mark.parametrize("missing", range(4))
def test_nothing_is_read_where_nothing_is(gpu: Cuda, missing: int) -> None:
    arrays = [(c_uint64 * 2)(8, 8), (c_uint64 * 1)(64), (c_uint32 * 2)(1, 1), (c_uint32 * 2)(1, 1)]
    given = [None if at == missing else array for at, array in enumerate(arrays)]
    map_ = (c_char * 128)()
    assert gpu.cuTensorMapEncodeTiled(map_, TYPE, 2, c_uint64(0), *given, *FORM) == INVALID_VALUE
    assert gpu.cuTensorMapEncodeTiled(None, TYPE, 2, c_uint64(0), *arrays, *FORM) == INVALID_VALUE
