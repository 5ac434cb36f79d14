"""cuDNN's API layer through ctypes: a handle, descriptors, graphs, and the worker's answers; for its tests."""

from __future__ import annotations

import ctypes
import itertools
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import byref, c_double, c_int64, c_size_t, c_uint64
from dataclasses import dataclass
from typing import Any

from api_rig import Cuda

from jitc.interpose.spec.cudnn.shapes import KINDS

SUCCESS, NOT_INITIALIZED, BAD_PARAM, NULL_POINTER, NOT_FINALIZED = 0, 1001, 2000, 2002, 2004
STREAM_MISMATCH = 2007
ATTRIBUTE_TYPE, NOT_SUPPORTED, INTERNAL_ERROR, EXECUTION_FAILED = 2010, 3000, 4000, 5000
FLOAT, DOUBLE, HALF, INT64, FAST_FLOAT, COMPLEX_DOUBLE = 0, 1, 2, 10, 14, 21
#: Descriptors of the graph API.
POINTWISE, CONFIG, HEURISTICS, PLAN, OPERATION, GRAPH, PACK, TENSOR = 0, 3, 4, 5, 13, 15, 16, 17
#: What standin_dnn.cpp says.
VERSION = 91900

_NUMBER = itertools.count(1000)


def unique() -> int:
    """Answers are kept over all tests: what is asked of a size that no other test has is a new question."""
    return next(_NUMBER)


def i32(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}i", *values)


def i64(*values: int) -> bytes:
    return b"".join(value.to_bytes(8, "little", signed=value < 0) for value in values)


@dataclass(frozen=True)
class Value:
    """What an attribute is set to: type and number of its elements, their bytes."""

    type: int
    count: int
    content: bytes | None


def enum(value: int, type_: int = 1) -> Value:
    return Value(type_, 1, i32(value))


def flag(value: bool) -> Value:
    return Value(2, 1, bytes([value]))


def integers(*values: int, type_: int = 3) -> Value:
    return Value(type_, len(values), i64(*values))


def nodes(*values: c_uint64) -> Value:
    return integers(*(value.value for value in values), type_=15)


def list_of(values: Sequence[int]) -> Any:
    return (ctypes.c_int32 * len(values))(*values)


class Dnn:
    """A handle, functions by name, and what the worker is to answer."""

    def __init__(self, gpu: Cuda) -> None:
        self.gpu = gpu
        self.handle = self.make("cudnnCreate")
        gpu.take()

    def call(self, name: str, *args: Any) -> int:
        converted = (c_double(one) if isinstance(one, float) else one for one in args)
        return int(getattr(self.gpu, name)(*converted))

    def ok(self, name: str, *args: Any) -> None:
        status = self.call(name, *args)
        assert status == SUCCESS, f"{name} gave {status}: {self.last_words()}"

    def make(self, name: str, *args: Any) -> c_uint64:
        """What is made into the function's last argument."""
        out = c_uint64()
        self.ok(name, *args, byref(out))
        return out

    def size(self, name: str, *args: Any) -> int:
        return self.make(name, self.handle, *args).value

    def tell(self, content: bytes = b"", status: int = SUCCESS) -> None:
        """The worker's answer to the next op that waits for cuDNN."""
        self.gpu.jitc_fake_dnn_answer(status, content, c_size_t(len(content)))

    def unused(self) -> int:
        """Answers that were prepared and not needed."""
        return int(self.gpu.jitc_fake_dnn_forget())

    def last_words(self, size: int = 200) -> str:
        text = ctypes.create_string_buffer(b"?" * size)
        self.gpu.cudnnGetLastErrorString(text, c_size_t(size))
        return text.value.decode(errors="replace")

    def names(self) -> list[str]:
        return [op.name for op in self.gpu.take()]

    @contextmanager
    def captured(self) -> Iterator[c_uint64]:
        """The handle's stream while it is being captured."""
        stream = c_uint64(self.gpu.make("cudaStreamCreateWithFlags", 1))
        self.ok("cudnnSetStream", self.handle, stream)
        self.ok("cudaStreamBeginCapture", stream, 2)
        yield stream
        graph = self.make("cudaStreamEndCapture", stream)
        self.ok("cudaGraphDestroy", graph)
        self.ok("cudnnSetStream", self.handle, c_uint64(0))

    # The older API.
    def old(self, kind: str) -> c_uint64:
        return self.make(f"cudnnCreate{KINDS[kind]}Descriptor")

    def set_tensor(self, one: c_uint64, sizes: Sequence[int], type_: int = FLOAT) -> int:
        strides = [1] * len(sizes)
        return self.call("cudnnSetTensorNdDescriptor", one, type_, len(sizes), list_of(sizes), list_of(strides))

    def tensor(self, *sizes: int, type_: int = FLOAT) -> c_uint64:
        one = self.old("tensor")
        assert self.set_tensor(one, sizes, type_) == SUCCESS
        return one

    # The graph API.
    def set(self, node: c_uint64, name: int, value: Value) -> int:
        return self.call("cudnnBackendSetAttribute", node, name, value.type, c_int64(value.count), value.content)

    def node(self, kind: int, values: dict[int, Value], finalized: bool = True) -> c_uint64:
        one = self.make("cudnnBackendCreateDescriptor", kind)
        for name, value in values.items():
            assert self.set(one, name, value) == SUCCESS
        if finalized:
            self.ok("cudnnBackendFinalize", one)
        return one

    def get(self, node: c_uint64, name: int, type_: int, most: int, elements: Any) -> tuple[int, int]:
        """The status, and how many elements there are; -1: nothing was said of that."""
        count = c_int64(-1)
        return self.call("cudnnBackendGetAttribute", node, name, type_, c_int64(most), byref(count), elements), (
            count.value
        )

    def graph_tensor(self, uid: int, *sizes: int, type_: int = FLOAT, by_value: bool = False) -> c_uint64:
        values = {901: enum(type_), 902: integers(*sizes), 906: integers(uid)}
        return self.node(TENSOR, values | ({908: flag(True)} if by_value else {}))

    def plan(self, *tensors: c_uint64) -> c_uint64:
        """Of a graph of one operation; its description is a new one."""
        operation = self.node(OPERATION, {751: nodes(*tensors), 753: integers(unique())})
        graph = self.node(GRAPH, {800: self.handle_value, 801: nodes(operation)})
        return self.node(PLAN, {400: self.handle_value, 401: nodes(self.node(CONFIG, {300: nodes(graph)}))})

    @property
    def handle_value(self) -> Value:
        return integers(self.handle.value, type_=0)

    def pack(self, places: dict[int, int], workspace: int = 0) -> c_uint64:
        addresses = {1001: integers(*places.values(), type_=6), 1003: integers(workspace, type_=6)}
        return self.node(PACK, {1000: integers(*places)} | addresses)

    def execute(self, plan: c_uint64, pack: c_uint64) -> int:
        return self.call("cudnnBackendExecute", self.handle, plan, pack)
