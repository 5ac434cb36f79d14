"""A small training loop on CUDA's public libraries, run by test_cuda_training.py in lockstep.

`cuda_training.py GPU [RANKS RANK [COUNTING [LOOKING [ASKING]]]]`: does a step for every line on standard input and
prints the step and a hash of all device memory. With ranks, rank 0 prints an id first, and each rank reads it as its
first line. With COUNTING 0 nothing changes device variables; with LOOKING 1 the program looks at some gradients before
each step; with ASKING 0 it knows device variables by their symbols, and never asks where one lies. Every step's result
needs all earlier ones, on this rank and, by way of the gradients, on all others.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
import struct
import sys
from ctypes import byref, c_float, c_int64, c_size_t, c_uint64, c_void_p

import cuda_api as api
from cuda_api import call, cuda, launch, launch_driver, made

SIZE = 32  # of the square matrices
COUNT, BYTES = SIZE * SIZE, SIZE * SIZE * 4
FORWARD, BACKWARD, OPTIMIZER = range(3)
ELEMENT_F32, LOOKED_AT = 3, 256
NON_BLOCKING, NO_TIMING, THREAD_LOCAL, TO_DEVICE, TO_HOST, BETWEEN = 1, 2, 1, 1, 2, 3
IMAGE = b"JITCFAKE 1\nkernel add_i64\nkernel bump_global\nglobal counter 8\n"
FAT_BINARY = (
    b"JITCFAKE 1\nkernel fill_f32\nkernel axpy_f32\nkernel count bump_global\nglobal counter 8\nglobal table 2048\n"
)

compiled = api.Compiled(FAT_BINARY)
fill_f32, axpy_f32, count_calls = (compiled.kernel(name) for name in ("fill_f32", "axpy_f32", "count"))
TABLE = (compiled.variable("table", 2048), 2048)
SYMBOLS = ((compiled.variable("counter", 8), 8), TABLE)


def fill(to: int, value: float, stream: int) -> None:
    launch(fill_f32, stream, c_uint64(to), c_float(value), c_uint64(COUNT))


def add(to: int, by: float, what: int, stream: int) -> None:
    """to += by * what"""
    launch(axpy_f32, stream, c_uint64(to), c_uint64(what), c_float(by), c_uint64(COUNT))


class Training:
    """Weights, momentum and statistics on one GPU."""

    def __init__(self, gpu: int, ranks: int, rank: int, *, counting: bool, looking: bool, asking: bool) -> None:
        call("cudaSetDevice", gpu)
        self.rank, self.counting, self.looking = rank, counting, looking
        self.comm = meet(ranks, rank) if ranks > 1 else None
        self.main, self.side = (made("cudaStreamCreateWithFlags", NON_BLOCKING) for _ in range(2))
        self.forth, self.back = (c_uint64(made("cudaEventCreateWithFlags", NO_TIMING)) for _ in range(2))
        names = ("weights", "inputs", "outputs", "gradients", "momentum", "statistics", "ticks", "average")
        self.at = {name: made("cudaMalloc", c_size_t(BYTES)) for name in names}
        blocks = [api.LiveBlock(address, BYTES, number) for number, address in enumerate(self.at.values(), 1)]
        self.live = (api.LiveBlock * len(blocks))(*blocks)
        for address in self.at.values():
            cuda.jitc_follow_memory(c_uint64(address), c_size_t(BYTES), 1)
        for name, address in self.at.items():
            fill(address, 0.125 if name == "weights" else 0.0, self.main)
        for symbol, size in SYMBOLS:
            call(
                "cudaMemcpyToSymbol",
                symbol,
                bytes(number % 251 for number in range(size)),
                c_size_t(size),
                c_size_t(0),
                TO_DEVICE,
            )
        module = api.Module(IMAGE)
        self.add_i64, self.bump = module.kernel("add_i64"), module.kernel("bump_global")
        self.counter = module.variable("counter") if asking else None
        self.products = api.Products(SIZE, self.main)
        self.graph = self.captured()

    def captured(self) -> c_uint64:
        """Momentum, a count on another stream, an average, and a table, as a graph that each step launches."""
        call("cudaStreamBeginCapture", c_uint64(self.main), THREAD_LOCAL)
        add(self.at["momentum"], 0.5, self.at["gradients"], self.main)
        self.fork()
        launch_driver(self.add_i64, self.side, c_uint64(self.at["ticks"]), c_int64(3), c_uint64(16))
        self.unite()
        self.copy(self.at["average"], self.at["momentum"])
        self.copy_symbol("cudaMemcpyFromSymbolAsync", c_uint64(self.at["ticks"] + BYTES - TABLE[1]), TABLE[0])
        graph = c_uint64(made_of("cudaStreamEndCapture", self.main))
        executable = c_uint64(made("cudaGraphInstantiate", graph, ctypes.c_ulonglong(0)))
        call("cudaGraphDestroy", graph)
        return executable

    def copy(self, to: int, source: int) -> None:
        call("cudaMemcpyAsync", c_uint64(to), c_uint64(source), c_size_t(BYTES), BETWEEN, c_uint64(self.main))

    def copy_symbol(self, name: str, to: c_uint64 | c_void_p, source: c_uint64 | c_void_p) -> None:
        call(name, to, source, c_size_t(TABLE[1]), c_size_t(0), BETWEEN, c_uint64(self.main))

    def fork(self) -> None:
        """What the side stream is given from now on comes after the main stream's work."""
        call("cudaEventRecord", self.forth, c_uint64(self.main))
        call("cudaStreamWaitEvent", c_uint64(self.side), self.forth, 0)

    def unite(self) -> None:
        call("cudaEventRecord", self.back, c_uint64(self.side))
        call("cudaStreamWaitEvent", c_uint64(self.main), self.back, 0)

    def step(self, number: int) -> None:
        cuda.jitc_set_phase(FORWARD)
        self.forward(number)
        cuda.jitc_set_phase(BACKWARD)
        self.backward()
        if self.looking:
            self.look()
        cuda.jitc_set_phase(OPTIMIZER)
        cuda.jitc_step_begin_live(self.live, c_size_t(len(self.live)))
        add(self.at["weights"], -0.25, self.at["momentum"], self.main)
        if self.counting:
            launch(count_calls, self.main)
            self.copy_symbol("cudaMemcpyToSymbolAsync", TABLE[0], c_uint64(self.at["momentum"]))
        cuda.jitc_step_end(self.live, c_size_t(len(self.live)))

    def look(self) -> None:
        """As PyTorch's operators do, it says that these are numbers."""
        cuda.jitc_set_element_type(ELEMENT_F32)
        call("cudaDeviceSynchronize")
        read(self.at["gradients"], LOOKED_AT)
        cuda.jitc_set_element_type(0)

    def forward(self, number: int) -> None:
        values = [math.sin(0.1 * at * (number + 1) + self.rank) for at in range(COUNT)]
        inputs = struct.pack(f"<{COUNT}f", *values)
        to, main = c_uint64(self.at["inputs"]), c_uint64(self.main)
        call("cudaMemcpyAsync", to, inputs, c_size_t(BYTES), TO_DEVICE, main)
        self.products.gemm(1 / SIZE, self.at["weights"], self.at["inputs"], 0, self.at["outputs"])
        self.fork()
        add(self.at["statistics"], 0.75, self.at["outputs"], self.side)
        if self.counting:
            launch_driver(self.bump, self.side)
        temporary = made("cudaMallocAsync", c_size_t(BYTES), c_uint64(self.side))
        fill(temporary, float(number), self.side)
        add(self.at["statistics"], 1, temporary, self.side)
        call("cudaFreeAsync", c_uint64(temporary), c_uint64(self.side))
        self.unite()

    def backward(self) -> None:
        at = self.at
        self.products.matmul(1 / SIZE, at["inputs"], at["outputs"], at["gradients"])
        self.products.gemm_ex(1 / SIZE, at["inputs"], at["outputs"], 1, at["gradients"])
        if self.comm is not None:
            api.all_reduce(at["gradients"], COUNT, self.comm, self.main)
        call("cudaGraphLaunch", self.graph, c_uint64(self.main))

    def digest(self) -> str:
        """Of all memory, variables included. Fails when it holds what no longer shows a difference."""
        call("cudaDeviceSynchronize")
        found = hashlib.sha256()
        for address in self.at.values():
            found.update(read(address, BYTES))
        if self.counter:
            found.update(read(*self.counter))
        for symbol, size in SYMBOLS:
            back = ctypes.create_string_buffer(size)
            call("cudaMemcpyFromSymbol", back, symbol, c_size_t(size), c_size_t(0), TO_HOST)
            found.update(back.raw)
        weights = struct.unpack(f"<{COUNT}f", read(self.at["weights"], BYTES))
        assert all(map(math.isfinite, weights)), "the weights are out of range"
        return found.hexdigest()


def made_of(name: str, stream: int) -> int:
    out = c_uint64()
    call(name, c_uint64(stream), byref(out))
    return out.value


def read(address: int, size: int) -> bytes:
    back = ctypes.create_string_buffer(size)
    call("cudaMemcpy", back, c_uint64(address), c_size_t(size), TO_HOST)
    return back.raw


def meet(ranks: int, rank: int) -> c_uint64:
    if rank == 0:
        print(api.unique_id(), flush=True)
    return api.communicator(sys.stdin.readline().strip(), ranks, rank)


def main(gpu: int, ranks: int = 1, rank: int = 0, *settings: int) -> None:
    counting, looking, asking = map(bool, (*settings, *(1, 0, 1)[len(settings) :]))
    training = Training(gpu, ranks, rank, counting=counting, looking=looking, asking=asking)
    for number, _ in enumerate(sys.stdin):
        training.step(number)
        print(number, training.digest(), flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
