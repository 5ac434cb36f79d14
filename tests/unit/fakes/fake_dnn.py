"""The fake cuDNN in this process, through ctypes: its handle, descriptors of the older API, and graphs."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from fake_driver import Driver, copied

FLOAT, DOUBLE, HALF, INT32, BFLOAT16 = 0, 1, 2, 4, 9
NOT_INITIALIZED = 1001
BAD, NULL, MISALIGNED, NOT_FINALIZED, TOO_SMALL = 2000, 2002, 2003, 2004, 2006
SHAPE, DUPLICATED, TYPE, NOT_SUPPORTED, EXECUTION_FAILED = 2008, 2009, 2010, 3000, 5000
LAUNCH_FAILED = 719

# Descriptors of the graph API.
POINTWISE, CONVOLUTION, ENGINE, CONFIG, HEURISTICS, PLAN, CHOICE, INFO = 0, 1, 2, 3, 4, 5, 7, 8
FORWARD, FILTER_BACKWARD, DATA_BACKWARD, OPERATION_POINTWISE, GRAPH, PACK, TENSOR = 10, 11, 12, 13, 15, 16, 17
ADD, MULTIPLY, IDENTITY, RELU = 0, 1, 21, 100

#: Names of tensors in `Dnn.small_graph`.
X, Y = 1, 2

Array = npt.NDArray[Any]
SEED = np.random.default_rng(11)


def random(*shape: int) -> Array:
    return SEED.standard_normal(shape).astype(np.float32)


class Address(int):
    """An address, a size or a handle: goes as 64 bits."""


def passed(value: Any) -> Any:
    if isinstance(value, Address):
        return ctypes.c_uint64(value)
    return ctypes.c_double(value) if isinstance(value, float) else value


@dataclass(frozen=True)
class Value:
    """What an attribute is set to: the type of its elements, how many they are, their bytes."""

    type: int
    count: int
    content: bytes


def enum(type_: int, value: int) -> Value:
    return Value(type_, 1, struct.pack("<i", value))


def data_type(value: int) -> Value:
    return enum(1, value)


def flag(value: bool) -> Value:
    return Value(2, 1, bytes([value]))


def integers(*values: int) -> Value:
    return Value(3, len(values), struct.pack(f"<{len(values)}q", *values))


def single(value: float) -> Value:
    return Value(4, 1, struct.pack("<f", value))


def double(value: float) -> Value:
    return Value(5, 1, struct.pack("<d", value))


def pointers(*values: int, type_: int = 6) -> Value:
    return Value(type_, len(values), struct.pack(f"<{len(values)}Q", *values))


def nodes(*values: int) -> Value:
    return pointers(*values, type_=15)


def strides_of(dims: Sequence[int]) -> list[int]:
    return [int(np.prod(dims[axis + 1 :])) for axis in range(len(dims))]


def channels_last(dims: Sequence[int]) -> list[int]:
    channels, spatial = dims[1], dims[2:]
    return [channels * int(np.prod(spatial)), 1, *(channels * each for each in strides_of(spatial))]


def list_of(values: Sequence[int]) -> Any:
    return (ctypes.c_int * len(values))(*values)


def scalar(value: float) -> Any:
    return ctypes.byref(ctypes.c_float(value))


class Dnn:
    """cudnnXxx functions: ``call`` gives the status, ``ok`` wants success, ``size`` reads a size."""

    def __init__(self, driver: Driver, folder: Path) -> None:
        self.driver = driver
        self.library = ctypes.CDLL(str(copied("cudnn", folder)))
        self.stream = driver.stream()
        self.handle = self.make("cudnnCreate")
        self.ok("cudnnSetStream", self.handle, Address(self.stream))

    def call(self, name: str, *args: Any) -> int:
        return int(getattr(self.library, name)(*map(passed, args)))

    def ok(self, name: str, *args: Any) -> None:
        status = self.call(name, *args)
        assert status == 0, f"{name} gave {status}: {self.last_error()}"

    def make(self, name: str, *args: Any) -> Address:
        """What is made into the function's last argument."""
        out = ctypes.c_uint64()
        self.ok(name, *args, ctypes.byref(out))
        return Address(out.value)

    def size(self, name: str, *args: Any) -> Address:
        return self.make(name, *args)

    def fault(self) -> int:
        """What the stream's work ended with."""
        return int(self.driver.cuStreamSynchronize(ctypes.c_void_p(self.stream)))

    def last_error(self) -> str:
        text = ctypes.create_string_buffer(200)
        self.library.cudnnGetLastErrorString(text, ctypes.c_size_t(200))
        return text.value.decode()

    def put(self, array: Array) -> Address:
        content = np.ascontiguousarray(array).tobytes()
        place = self.driver.allocate(len(content))
        self.driver.write(place, content)
        return Address(place)

    def space(self, size: int) -> Address:
        return self.put(np.zeros(max(size, 1), np.uint8))

    def get(self, place: int, like: Array) -> Array:
        self.driver.synchronize(self.stream)
        flat: Array = np.frombuffer(self.driver.read(place, like.nbytes), like.dtype)
        return flat.reshape(like.shape)

    # The older API.
    def tensor(self, dims: Sequence[int], strides: Sequence[int] = (), type_: int = FLOAT) -> Address:
        one = self.make("cudnnCreateTensorDescriptor")
        steps = list_of(list(strides) or strides_of(dims))
        self.ok("cudnnSetTensorNdDescriptor", one, type_, len(dims), list_of(dims), steps)
        return one

    def filter(self, dims: Sequence[int], layout: int = 0, type_: int = FLOAT) -> Address:
        one = self.make("cudnnCreateFilterDescriptor")
        self.ok("cudnnSetFilterNdDescriptor", one, type_, layout, len(dims), list_of(dims))
        return one

    # The graph API.
    def node(self, kind: int, values: dict[int, Value], finalize: bool = True) -> Address:
        one = self.make("cudnnBackendCreateDescriptor", kind)
        for name, value in values.items():
            assert self.set(one, name, value) == 0, f"{name}: {self.last_error()}"
        if finalize:
            self.ok("cudnnBackendFinalize", one)
        return one

    def set(self, node: int, name: int, value: Value) -> int:
        count = ctypes.c_int64(value.count)
        return self.call("cudnnBackendSetAttribute", Address(node), name, value.type, count, value.content)

    def read(self, node: int, name: int, type_: int, most: int, buffer: Any) -> tuple[int, int]:
        """The status, and how many elements there were."""
        count, requested = ctypes.c_int64(-1), ctypes.c_int64(most)
        arguments = (Address(node), name, type_, requested, ctypes.byref(count), buffer)
        return self.call("cudnnBackendGetAttribute", *arguments), count.value

    def integer(self, node: int, name: int, type_: int = 3) -> int:
        out = ctypes.c_int64()
        assert self.read(node, name, type_, 1, ctypes.byref(out)) == (0, 1)
        return out.value

    def children(self, node: int, name: int, kind: int, most: int) -> list[Address]:
        """Descriptors of our own, filled with those of the attribute."""
        made = [self.make("cudnnBackendCreateDescriptor", kind) for _ in range(most)]
        status, count = self.read(node, name, 15, most, (ctypes.c_uint64 * most)(*made))
        assert status == 0
        return made[:count]

    def graph_tensor(self, uid: int, dims: Sequence[int], **how: Any) -> Address:
        """how: strides, type_, alignment; virtual or by_value."""
        strides = how.get("strides") or strides_of(dims)
        values = {901: data_type(how.get("type_", FLOAT)), 902: integers(*dims), 903: integers(*strides)}
        values |= {906: integers(uid), 900: integers(how.get("alignment", 16))}
        values |= {907: flag(how.get("virtual", False)), 908: flag(how.get("by_value", False))}
        return self.node(TENSOR, values)

    def pointwise(self, mode: int, x: int, y: int, b: int = 0, **scalars: float) -> Address:
        """scalars: alpha1, alpha2."""
        how = self.node(POINTWISE, {0: enum(14, mode), 1: data_type(0)})
        values = {750: nodes(how), 751: nodes(x), 753: nodes(y)} | ({752: nodes(b)} if b else {})
        names = {"alpha1": 754, "alpha2": 755}
        return self.node(OPERATION_POINTWISE, values | {names[key]: single(each) for key, each in scalars.items()})

    def small_graph(self) -> Address:
        """Copies four numbers from X to Y."""
        return self.graph(self.pointwise(IDENTITY, *(self.graph_tensor(uid, (1, 4, 1)) for uid in (X, Y))))

    def graph(self, *operations: int) -> Address:
        return self.node(GRAPH, {800: pointers(self.handle, type_=0), 801: nodes(*operations)})

    def configs(self, graph: int, most: int = 8) -> list[Address]:
        heuristics = self.node(HEURISTICS, {200: enum(8, 0), 201: nodes(graph)})
        return self.children(heuristics, 202, CONFIG, most)

    def plan(self, config: int) -> Address:
        return self.node(PLAN, {400: pointers(self.handle, type_=0), 401: nodes(config)})

    def pack(self, places: Mapping[int, int], workspace: int = 0) -> Address:
        values = {1000: integers(*places), 1001: pointers(*places.values()), 1003: pointers(workspace)}
        return self.node(PACK, values)

    def execute(self, plan: int, places: Mapping[int, int], workspace: int = 0) -> int:
        return self.call("cudnnBackendExecute", self.handle, Address(plan), self.pack(places, workspace))

    def run(self, *operations: int, places: Mapping[int, int], engine: int = 0) -> None:
        """A graph of the operations, by an engine that works: 0 or 1."""
        plan = self.plan(self.configs(self.graph(*operations))[3 - engine])
        workspace = self.space(self.integer(plan, 402))
        assert self.execute(plan, places, workspace) == 0, self.last_error()
