"""What cuDNN says of descriptors where no GPU is needed: run by test_fake_dnn_real.py with both libraries.

`dnn_without_gpu.py LIBRARY`: prints a JSON list of [what was done, status, values].
"""

from __future__ import annotations

import ctypes
import json
import struct
import sys
from ctypes import byref, c_int, c_int64, c_ubyte, c_void_p

DATA_TYPE, BOOLEAN, INT64, FLOAT, VOID_PTR, MODE, DESCRIPTOR, INT32 = 1, 2, 3, 4, 6, 7, 15, 23
CONVOLUTION, FORWARD, GRAPH, PACK, TENSOR = 1, 10, 15, 16, 17
FORMATS = {DATA_TYPE: "i", BOOLEAN: "?", INT64: "q", FLOAT: "f", VOID_PTR: "Q", MODE: "i", DESCRIPTOR: "Q", INT32: "i"}


class Library:
    """Calls, and what came of each."""

    def __init__(self, path: str) -> None:
        self.cudnn = ctypes.CDLL(path)
        self.cudnn.cudnnBackendSetAttribute.argtypes = [c_void_p, c_int, c_int, c_int64, c_void_p]
        self.cudnn.cudnnBackendGetAttribute.argtypes = [c_void_p, c_int, c_int, c_int64, c_void_p, c_void_p]
        for name in ("Finalize", "DestroyDescriptor"):
            getattr(self.cudnn, f"cudnnBackend{name}").argtypes = [c_void_p]
        self.seen: list[tuple[str, int, list[int]]] = []

    def note(self, what: str, status: int, values: list[int] | None = None) -> int:
        self.seen.append((what, status, values or []))
        return status

    def create(self, kind: int) -> int:
        out = c_void_p()
        self.note(f"create {kind}", self.cudnn.cudnnBackendCreateDescriptor(kind, byref(out)))
        return out.value or 0

    def set(self, descriptor: int, name: int, kind: int, *values: float) -> None:
        packed = struct.pack(f"<{len(values)}{FORMATS[kind]}", *values)
        status = self.cudnn.cudnnBackendSetAttribute(descriptor, name, kind, len(values), packed)
        self.note(f"set {name} as {kind}, {len(values)}", status)

    def get(self, descriptor: int, name: int, kind: int, requested: int, *, elements: bool = True) -> None:
        """Also the bytes after what was written: a wrong size of an element would show."""
        count, room = c_int64(-1), (c_ubyte * 64)(*([0xEE] * 64))
        status = self.cudnn.cudnnBackendGetAttribute(
            descriptor, name, kind, requested, byref(count), room if elements else None
        )
        self.note(f"get {name} as {kind}, {requested} {elements}", status, [count.value, *room] if not status else [])

    def finalize(self, descriptor: int) -> None:
        self.note("finalize", self.cudnn.cudnnBackendFinalize(descriptor))

    def destroy(self, descriptor: int) -> None:
        self.note("destroy", self.cudnn.cudnnBackendDestroyDescriptor(descriptor))

    def tensor(self, uid: int, *sizes: int, by_value: bool = False) -> int:
        strides = [1]
        for size in reversed(sizes[1:]):
            strides.insert(0, strides[0] * size)
        out = self.create(TENSOR)
        self.set(out, 901, DATA_TYPE, 0)
        self.set(out, 902, INT64, *sizes)
        self.set(out, 903, INT64, *strides)
        self.set(out, 906, INT64, uid)
        self.set(out, 900, INT64, 16)
        if by_value:
            self.set(out, 908, BOOLEAN, 1)
        self.finalize(out)
        return out


def tensors(on: Library) -> None:
    one = on.tensor(1, 1, 4, 8, 8)
    for requested in (0, 2, 4, 8):
        on.get(one, 902, INT64, requested)
    on.get(one, 902, INT64, 8, elements=False)
    on.get(one, 901, DATA_TYPE, 1)
    on.get(one, 906, INT64, 1)
    on.get(one, 908, BOOLEAN, 1)
    on.get(one, 902, INT32, 8)  # of another type
    on.set(one, 906, INT64, 9)  # finalized
    on.finalize(one)
    on.get(on.tensor(2, 1, 1, 1, 1, by_value=True), 908, BOOLEAN, 1)
    unfinished = on.create(TENSOR)
    on.get(unfinished, 902, INT64, 8)
    on.set(unfinished, 902, INT32, 1)
    on.finalize(unfinished)
    on.destroy(unfinished)


def convolution(on: Library) -> None:
    x, w, y = on.tensor(1, 1, 4, 8, 8), on.tensor(2, 4, 4, 3, 3), on.tensor(3, 1, 4, 8, 8)
    how = on.create(CONVOLUTION)
    on.set(how, 100, DATA_TYPE, 0)
    on.set(how, 101, MODE, 1)
    on.set(how, 106, INT64, 2)
    for name in (105, 104, 102, 103):
        on.set(how, name, INT64, 1, 1)
    operation = on.create(FORWARD)
    on.finalize(how)
    for name, child in ((704, x), (703, w), (705, y), (702, how)):
        on.set(operation, name, DESCRIPTOR, child)
    on.set(operation, 700, FLOAT, 1)
    on.set(operation, 701, FLOAT, 0)
    on.finalize(operation)
    for child in (x, w, y, how):
        on.destroy(child)
    graph = on.create(GRAPH)
    on.set(graph, 801, DESCRIPTOR, operation)
    on.finalize(graph)


def packs(on: Library) -> None:
    for workspace in (True, False):
        pack = on.create(PACK)
        on.set(pack, 1001, VOID_PTR, 4096, 8192)
        on.set(pack, 1000, INT64, 1, 2)
        if workspace:
            on.set(pack, 1003, VOID_PTR, 0)
        on.finalize(pack)
        on.set(pack, 1003, VOID_PTR, 0)


def older_descriptors(on: Library) -> None:
    made, sizes, strides = c_void_p(), (c_int * 4)(1, 2, 3, 4), (c_int * 4)(24, 12, 4, 1)
    on.note("create tensor", on.cudnn.cudnnCreateTensorDescriptor(byref(made)))
    on.note("set tensor", on.cudnn.cudnnSetTensorNdDescriptor(made, 0, 4, sizes, strides))
    kind, count, back, steps = c_int(-1), c_int(-1), (c_int * 4)(), (c_int * 4)()
    status = on.cudnn.cudnnGetTensorNdDescriptor(made, 4, byref(kind), byref(count), back, steps)
    on.note("get tensor", status, [kind.value, count.value, *back, *steps])
    on.note("set tensor of 9 dimensions", on.cudnn.cudnnSetTensorNdDescriptor(made, 0, 9, sizes, strides))
    on.note("destroy tensor", on.cudnn.cudnnDestroyTensorDescriptor(made))


def main() -> None:
    on = Library(sys.argv[1])
    for part in (tensors, convolution, packs, older_descriptors):
        part(on)
    json.dump(on.seen, sys.stdout)


if __name__ == "__main__":
    main()
