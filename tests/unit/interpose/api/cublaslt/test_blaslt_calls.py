"""On a device with kernels cuBLASLt's calls travel with their objects; heuristics are asked of the worker, once."""

from __future__ import annotations

import ctypes
import struct
from ctypes import byref, c_float, c_int, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any

import pytest
from api_rig import Cuda
from interpose_call_ops import Call, Object, sent
from interpose_types import Heuristic

from jitc.ops import generated_names as generated_ops

INVALID_VALUE, NOT_SUPPORTED, INTERNAL_ERROR = 7, 15, 14
F32, BF16, C_32F = 0, 14, 4
PREFIXES = {"lt_descriptor": "MatmulDesc", "lt_layout": "MatrixLayout", "lt_preference": "MatmulPreference"}


class Objects:
    """A descriptor, four layouts and a preference."""

    def __init__(self, gpu: Cuda, *, scale_type: int = F32) -> None:
        self.gpu = gpu
        self.handle = gpu.make("cublasLtCreate")
        self.desc = gpu.make("cublasLtMatmulDescCreate", 68, scale_type)
        self.layouts = [
            gpu.make("cublasLtMatrixLayoutCreate", BF16, c_uint64(rows), c_uint64(columns), c_int64(rows))
            for rows, columns in ((4, 6), (6, 5), (4, 5), (4, 5))
        ]
        self.preference = gpu.make("cublasLtMatmulPreferenceCreate")

    def put(self, what: str, handle: int, attribute: int, value: Any) -> int:
        size = c_size_t(ctypes.sizeof(value))
        return int(getattr(self.gpu, f"cublasLt{what}SetAttribute")(c_uint64(handle), attribute, byref(value), size))

    def ask(self, requested: int = 1, desc: int | None = None) -> tuple[int, list[bytes]]:
        results, count = (Heuristic * 4)(), c_int(-1)
        handles = map(c_uint64, (self.handle, desc or self.desc, *self.layouts, self.preference))
        status = self.gpu.cublasLtMatmulAlgoGetHeuristic(*handles, requested, results, byref(count))
        return int(status), [bytes(result) for result in results[: count.value]]

    def multiply(self, alpha: Any, beta: Any, algorithm: Any = None, stream: int = 0) -> int:
        a, b, c, d = (c_uint64(at) for at in (0x1000, 0x2000, 0x3000, 0x4000))
        la, lb, lc, ld = map(c_uint64, self.layouts)
        operands = (alpha, a, la, b, lb, beta, c, lc, d, ld)
        rest = (algorithm, c_uint64(0x9000), c_size_t(77), c_uint64(stream))
        return int(self.gpu.cublasLtMatmul(c_uint64(self.handle), c_uint64(self.desc), *operands, *rest))


def made(kind: str, create: list[int], **attributes: bytes) -> Object:
    """An object as the calls that make it; attributes by number."""
    prefix = f"cublasLt{PREFIXES[kind]}"
    sets = [
        Call(f"{prefix}SetAttribute", (("number", int(number[1:])), ("array", value)))
        for number, value in attributes.items()
    ]
    return Object(kind, (Call(f"{prefix}Create", tuple(("number", one) for one in create)), *sets))


def word(value: int, size: int = 4) -> bytes:
    return value.to_bytes(size, "little")


def test_a_heuristic_is_asked_with_all_objects_and_only_once(gpu: Cuda) -> None:
    o = Objects(gpu)
    assert o.put("MatmulDesc", o.desc, 8, c_uint64(0xB1A5)) == 0
    assert o.put("MatmulDesc", o.desc, 7, c_int32(4)) == 0
    assert o.put("MatrixLayout", o.layouts[1], 5, c_int32(3)) == 0
    assert o.put("MatmulPreference", o.preference, 1, c_uint64(1 << 25)) == 0
    gpu.take()
    status, results = o.ask(requested=2)
    assert (status, results) == (0, [bytes(range(96)), bytes(range(16, 112))])
    (op,) = gpu.take()
    asked = sent(op)
    assert asked.objects == (
        made("lt_descriptor", [68, F32], _7=word(4), _8=word(0xB1A5, 8)),
        made("lt_layout", [BF16, 4, 6, 4]),
        made("lt_layout", [BF16, 6, 5, 6], _5=word(3)),
        *[made("lt_layout", [BF16, 4, 5, 4])] * 2,
        made("lt_preference", [], _1=word(1 << 25, 8)),
    )
    places = tuple(("object", place) for place in range(6))
    slots = (*places, ("number", 2), ("result", 192), ("result", 4))
    assert (op.name, op.fields["handle"], asked.call) == (
        "library_ask",
        0,
        Call("cublasLtMatmulAlgoGetHeuristic", slots),
    )
    assert o.ask(requested=2) == (0, results)
    assert o.ask(requested=1) == (0, results[:1])  # another question
    assert o.ask(requested=1) == (0, results[:1])
    assert [sent(op).slots[6] for op in gpu.take()] == [("number", 1)]
    # The same objects made again are the same question, in whatever order they were described.
    again = Objects(gpu)
    again.put("MatmulDesc", again.desc, 7, c_int32(4))
    again.put("MatmulDesc", again.desc, 8, c_uint64(0xB1A5))
    again.put("MatrixLayout", again.layouts[1], 5, c_int32(3))
    again.put("MatmulPreference", again.preference, 1, c_uint64(1 << 25))
    assert again.ask(requested=2) == (0, results) and gpu.take() == []
    again.put("MatmulDesc", again.desc, 8, c_uint64(0xB1A6))
    again.ask(requested=2)
    assert len(gpu.take()) == 1


def test_what_the_library_does_not_support_stays_visible(gpu: Cuda) -> None:
    o = Objects(gpu)
    gpu.jitc_fake_lt_status(NOT_SUPPORTED)
    assert o.put("MatmulDesc", o.desc, 3, c_int32(1)) == 0
    assert o.ask() == (NOT_SUPPORTED, []) == o.ask()
    gpu.jitc_fake_lt_status(0)
    assert len(gpu.take()) == 1


def test_an_answer_that_the_worker_could_not_give_is_not_kept(gpu: Cuda) -> None:
    o = Objects(gpu)
    assert o.put("MatmulDesc", o.desc, 4, c_int32(1)) == 0
    gpu.take()
    gpu.jitc_fake_next_status(generated_ops.IDS["library_ask"], 801)
    assert o.ask() == (INTERNAL_ERROR, [])
    assert o.ask() == (0, [bytes(range(96))])
    assert [op.name for op in gpu.take()] == ["library_ask"] * 2


def test_a_product_carries_algorithm_addresses_workspace_and_objects(gpu: Cuda) -> None:
    o, stream = Objects(gpu), gpu.make("cudaStreamCreateWithFlags", 1)
    o.put("MatmulDesc", o.desc, 3, c_int32(1))
    gpu.take()
    algorithm = (ctypes.c_uint8 * 64)(*range(100, 164))
    assert o.multiply(byref(c_float(0.5)), byref(c_float(-1)), byref(algorithm), stream) == 0
    (op,) = gpu.take()
    product = sent(op)
    assert (op.name, op.stream, op.fields["handle"]) == ("library_call", stream, 0)
    assert [one.kind for one in product.objects] == ["lt_descriptor", *["lt_layout"] * 4]
    assert product.objects[0] == made("lt_descriptor", [68, F32], _3=word(1))
    scalars = [("scalar", struct.pack("<f", value)) for value in (0.5, -1)]
    a, b, c, d = (("address", at) for at in (0x1000, 0x2000, 0x3000, 0x4000))
    desc, *layouts = (("object", place) for place in range(5))
    slots = (desc, scalars[0], a, layouts[0], b, layouts[1], scalars[1], c, layouts[2], d, layouts[3])
    rest = (("array", bytes(range(100, 164))), ("address", 0x9000), ("number", 77))
    assert product.call == Call("cublasLtMatmul", (*slots, *rest))
    assert o.multiply(byref(c_float(0.5)), byref(c_float(-1))) == 0
    (op,) = gpu.take()
    assert sent(op).slots == (*slots, ("null", 0), *rest[1:])


@pytest.mark.parametrize(
    ("mode", "alpha", "beta"),
    [
        (0, "scalar", "scalar"),
        (1, "address", "address"),
        (2, "address", "address"),
        (3, "address", "null"),
        (4, "address", "scalar"),
    ],
    ids=["host", "device", "vector", "zero", "mixed"],
)
def test_scalars_by_pointer_mode(gpu: Cuda, mode: int, alpha: str, beta: str) -> None:
    o, memory = Objects(gpu, scale_type=C_32F), gpu.malloc(4096)
    o.put("MatmulDesc", o.desc, 2, c_int32(mode))
    gpu.take()
    host = ctypes.create_string_buffer(bytes(range(1, 9)), 8)
    at = [byref(host) if kind == "scalar" else c_void_p(memory + 64) for kind in (alpha, beta)]
    assert o.multiply(*at) == 0
    (op,) = gpu.take()
    slots = {"scalar": ("scalar", bytes(range(1, 9))), "address": ("address", memory + 64), "null": ("null", 0)}
    assert [sent(op).slots[place] for place in (1, 6)] == [slots[alpha], slots[beta]]


def test_what_cannot_travel_is_refused(gpu: Cuda) -> None:
    o, memory, one = Objects(gpu), gpu.malloc(4096), c_float(1)
    gpu.take()
    assert o.put("MatmulDesc", o.desc, 38, c_uint64(1)) == NOT_SUPPORTED  # a descriptor on the host
    assert o.put("MatmulDesc", o.desc, -1, c_uint64(1)) == NOT_SUPPORTED
    assert o.put("MatmulDesc", o.desc, 3, (ctypes.c_uint8 * 65)()) == INVALID_VALUE
    assert o.put("MatmulPreference", o.preference, 1, c_int32(1)) == INVALID_VALUE
    assert o.multiply(c_void_p(memory), byref(one)) == INVALID_VALUE  # a device address, scalars on the host
    assert o.multiply(None, byref(one)) == INVALID_VALUE
    assert o.ask(desc=o.layouts[0]) == (INVALID_VALUE, [])
    o.put("MatmulDesc", o.desc, 2, c_int32(5))
    assert o.multiply(byref(one), byref(one)) == NOT_SUPPORTED  # no such pointer mode
    assert gpu.take() == []


def test_attributes_can_be_read_back(gpu: Cuda) -> None:
    o = Objects(gpu)
    o.put("MatmulDesc", o.desc, 25, ctypes.c_int8(1))
    value, written = ctypes.c_int8(0), c_size_t(0)
    arguments = (c_uint64(o.desc), 25, byref(value), c_size_t(1), byref(written))
    gpu.ok("cublasLtMatmulDescGetAttribute", *arguments)
    assert (value.value, written.value) == (1, 1)
    rows = c_uint64(0)
    gpu.ok("cublasLtMatrixLayoutGetAttribute", c_uint64(o.layouts[0]), 2, byref(rows), c_size_t(8), byref(written))
    assert rows.value == 4
