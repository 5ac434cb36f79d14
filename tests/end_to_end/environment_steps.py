"""A program that sets variables of NVIDIA's libraries itself, run by test_programs_environment.py.

`environment_steps.py GPU`: for each line on standard input it sets NAME=VALUE, or calls what the line names (`memory`,
the first use of the GPU; `blas`; `join`, a communicator of one), and prints the line.
"""

from __future__ import annotations

import os
import sys
from ctypes import byref, c_int, c_size_t

from cuda_api import UniqueId, call, made


def join() -> None:
    identity = UniqueId()
    call("ncclGetUniqueId", byref(identity))
    made("ncclCommInitRank", c_int(1), identity, c_int(0))


def main(gpu: int) -> None:
    call("cudaSetDevice", gpu)
    for line in map(str.strip, sys.stdin):
        name, equals, value = line.partition("=")
        if equals:
            os.environ[name] = value
        elif line == "memory":
            made("cudaMalloc", c_size_t(1 << 20))
        elif line == "blas":
            made("cublasCreate_v2")
        elif line == "join":
            join()
        print(line, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
