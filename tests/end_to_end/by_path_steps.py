"""A rank that loads CUDA's libraries by their paths and calls them with ctypes; run by test_by_path.py.

`by_path_steps.py RANK FOLDER`: trains with PyTorch on what cuBLAS makes of weights that lie in memory of cudaMalloc's,
does a step for every line on standard input, and prints a hash of all that it holds. `by_path_steps.py refused`: calls
what the software device does not have, and prints the answers.
"""

from __future__ import annotations

import ctypes
import hashlib
import sys
from ctypes import byref, c_float, c_int, c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

SIZE, ROWS = 32, 8
WEIGHTS = 4 * SIZE * SIZE
PLAIN, TRANSPOSED = 0, 1
TO_DEVICE, TO_HOST = 1, 2


def library(name: str) -> ctypes.CDLL:
    """As such programs find it: in a wheel, else where the loader looks."""
    found = [one for place in sys.path for one in Path(place).glob(f"nvidia/*/lib/{name}.so.*")]
    return ctypes.CDLL(str(found[0]) if found else f"{name}.so")


class Libraries:
    def __init__(self) -> None:
        self.runtime, self.products = library("libcudart"), library("libcublas")
        self.driver = ctypes.CDLL("/usr/lib/x86_64-linux-gnu/libcuda.so.1")

    def call(self, name: str, *arguments: Any) -> None:
        place = self.products if name.startswith("cublas") else self.runtime if name.startswith("cuda") else self.driver
        if status := getattr(place, name)(*arguments):
            sys.exit(f"{name} gave {status}")

    def made(self, name: str, *arguments: Any) -> c_uint64:
        out = c_uint64()
        self.call(name, byref(out), *arguments)
        return out


class Rank:
    def __init__(self, rank: int) -> None:
        self.rank, self.cuda = rank, Libraries()
        self.weights, self.copy = (self.cuda.made("cudaMalloc", c_size_t(WEIGHTS)) for _ in range(2))
        self.rows = self.cuda.made("cudaMalloc", c_size_t(4 * ROWS * SIZE))
        self.give(self.weights, torch.eye(SIZE))
        self.stream, self.handle = self.cuda.made("cudaStreamCreate"), self.cuda.made("cublasCreate_v2")
        self.cuda.call("cublasSetStream_v2", self.handle, self.stream)
        torch.manual_seed(0)
        self.model = DistributedDataParallel(torch.nn.Linear(SIZE, SIZE).cuda())
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-2)

    def give(self, to: c_uint64, values: torch.Tensor) -> None:
        self.cuda.call("cudaMemcpy", to, c_void_p(values.data_ptr()), c_size_t(4 * values.numel()), c_int(TO_DEVICE))

    def multiply(self, factors: tuple[float, float], forms: tuple[int, int], columns: int, *at: int) -> None:
        """In column order, SIZE rows. factors: of the product, and of what was there; at: two operands, the result."""
        inner = SIZE if columns == ROWS else ROWS
        a, b, c = (c_uint64(one) for one in at)
        scale, keep = (byref(c_float(one)) for one in factors)
        self.cuda.call(
            "cublasSgemm_v2", self.handle, *forms, SIZE, columns, inner, scale, a, SIZE, b, SIZE, keep, c, SIZE
        )  # fmt: skip

    def step(self, number: int) -> bytes:
        batch = torch.randn(ROWS, SIZE, generator=torch.Generator().manual_seed(2 * number + self.rank))
        self.give(self.rows, batch)
        seen = torch.empty(ROWS, SIZE, device="cuda")
        torch.cuda.synchronize()  # the stream is not PyTorch's
        self.multiply((1.0, 0.0), (PLAIN, PLAIN), ROWS, self.weights.value, self.rows.value, seen.data_ptr())
        self.cuda.call("cudaStreamSynchronize", self.stream)
        self.optimizer.zero_grad()
        self.model(seen).square().mean().backward()
        self.optimizer.step()
        self.cuda.call("cudaDeviceSynchronize")
        self.multiply((-0.01, 1.0), (PLAIN, TRANSPOSED), SIZE, seen.data_ptr(), self.rows.value, self.weights.value)
        self.cuda.call("cuStreamSynchronize", self.stream)
        self.cuda.call("cuMemcpyDtoD_v2", self.copy, self.weights, c_size_t(WEIGHTS))
        return self.held()

    def held(self) -> bytes:
        own = ctypes.create_string_buffer(WEIGHTS)
        self.cuda.call("cudaMemcpy", own, self.copy, c_size_t(WEIGHTS), c_int(TO_HOST))
        state = [value for one in self.optimizer.state.values() for value in one.values()]
        every = [*self.model.parameters(), *state]
        return own.raw + b"".join(one.detach().cpu().numpy().tobytes() for one in every)


def refused() -> None:
    """Each answer on a line; what is not found has none."""
    handle = Libraries().made("cublasCreate_v2")
    vector = torch.ones(4, device="cuda")
    at = c_void_p(vector.data_ptr())
    print(library("libcublas").cublasSaxpy_v2(handle, 4, byref(c_float(1)), at, 1, at, 1))
    print(hasattr(library("libcublas"), "cublasSaxpy"))
    print(library("libcudnn").cudnnCreate(byref(c_void_p())))


def main(rank: int, folder: Path) -> None:
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    job = Rank(rank)
    for number, _ in enumerate(sys.stdin):
        print(number, hashlib.sha256(job.step(number)).hexdigest(), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    refused() if sys.argv[1] == "refused" else main(int(sys.argv[1]), Path(sys.argv[2]))
