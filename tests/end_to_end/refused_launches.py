"""A program whose launches CUDA refuses, run by test_refused_launches.py: each line on its input is a step.

Prints what the calls of the step gave, and the number that the launches which are right have counted up to.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from ctypes import byref, c_int, c_int32, c_int64, c_size_t, c_uint64, c_void_p

from cuda_api import Compiled, Dim3, call, cuda, keep, made, pointers

COOPERATIVE, CLUSTER = 2, 4  # CUlaunchAttributeID


class Config(ctypes.Structure):
    """cudaLaunchConfig_t."""

    _fields_ = (
        ("grid", Dim3), ("block", Dim3), ("shared", c_size_t), ("stream", c_uint64),
        ("attributes", c_void_p), ("count", c_int32),
    )  # fmt: skip


class Counter:
    """A kernel that adds one."""

    def __init__(self) -> None:
        self.kernel = Compiled(b"JITCFAKE 1\nkernel add_i64\n").kernel("add_i64")
        self.memory = made("cudaMalloc", c_size_t(8))
        call("cudaMemset", c_void_p(self.memory), c_int(0), c_size_t(8))

    def launch(self, blocks: int, attribute: int, *value: int) -> int:
        attributes = keep(struct.pack("<II64s", attribute, 0, struct.pack(f"<{len(value)}I", *value)))
        config = Config(Dim3(blocks, 1, 1), Dim3(256, 1, 1), 0, 0, ctypes.addressof(attributes), 1)
        parameters = pointers((c_uint64(self.memory), c_int64(1), c_uint64(1)))
        return int(cuda.cudaLaunchKernelExC(byref(config), self.kernel, parameters))

    def value(self) -> int:
        out = c_int64()
        call("cudaMemcpy", byref(out), c_void_p(self.memory), c_size_t(8), c_int(4))
        return out.value


def main() -> None:
    counter = Counter()
    for _ in sys.stdin:
        given = [
            counter.launch(132 * 8, COOPERATIVE, 1),
            counter.launch(132 * 8 + 1, COOPERATIVE, 1),
            counter.launch(6, CLUSTER, 2, 1, 1),
            counter.launch(7, CLUSTER, 2, 1, 1),
            counter.launch(32, CLUSTER, 16, 1, 1),
        ]
        print(*given, cuda.cudaGetLastError(), cuda.cudaGetLastError(), counter.value(), flush=True)


if __name__ == "__main__":
    main()
