"""A rank of a data-parallel job of two whose state lies in memory that it has in some way, run by test_all_memory.py.

`memory_steps.py RANK FOLDER WAY`: does a step for every line on standard input, and prints the step and a hash of all
that it has: weights, AdamW's moments, and a ledger that each step reads and writes, before the optimizer does and
after. Where they lie is what WAYS says of the way. FOLDER/allocators.so is own_allocators.c.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import sys
from collections.abc import Iterator
from ctypes import c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import Any, ClassVar

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

WIDTH, LEDGER = 300, 600_000  # floats: weights of 360 kB, which share memory, and a ledger that has its own
TURN = 3  # the step in which a way changes, if it does
made: list[Any] = []  # stays alive


class Way:
    """How a rank has its memory. The library is that of the allocators."""

    environment: ClassVar[dict[str, str]] = {}

    def __init__(self, rank: int, library: Path) -> None:
        self.rank, self.library = rank, library

    def before_cuda(self) -> None:
        """Before PyTorch uses CUDA."""

    def begin(self) -> None:
        """Before the first tensor."""

    def around(self) -> contextlib.AbstractContextManager[Any]:
        """Around the making of model and ledger."""
        return contextlib.nullcontext()

    def ledger(self) -> torch.Tensor:
        return torch.zeros(LEDGER, device="cuda")

    def turn(self) -> None:
        """In step TURN, before its forward pass; in each TURN steps after it again."""

    def pass_on(self, ledger: torch.Tensor) -> None:
        """Between the forward pass and the backward pass of each step; leaves the ledger's content as it was."""

    def check(self, ledger: torch.Tensor) -> None:
        """When the step is over."""


def viewed(address: int, count: int) -> torch.Tensor:
    """Memory that PyTorch has not allocated, as a tensor of zeros."""

    class Foreign:
        __cuda_array_interface__: ClassVar = {
            "data": (address, False),
            "shape": (count,),
            "typestr": "<f4",
            "version": 3,
        }

    tensor = torch.as_tensor(Foreign(), device="cuda")
    assert tensor.is_cuda and tensor.data_ptr() == address
    return tensor.zero_()


def called(name: str, *arguments: Any) -> None:
    status = getattr(ctypes.CDLL(None), name)(*arguments)
    assert status == 0, f"{name} gave {status}"


def made_pool(library: Path, take: str, give: str) -> torch.cuda.MemPool:
    own = torch.cuda.memory.CUDAPluggableAllocator(str(library), take, give)
    pool = torch.cuda.MemPool(own.allocator())
    made.extend((own, pool))
    return pool


class Off(Way):
    """The caching allocator is turned off; a tensor that it made before is still there."""

    def begin(self) -> None:
        made.append(torch.zeros(4, device="cuda"))
        torch.cuda.caching_allocator_enable(False)


class OffAndOn(Way):
    """It is turned off and on again in the middle; both sorts of tensors are alive at once."""

    def begin(self) -> None:
        self.enabled = False
        torch.cuda.caching_allocator_enable(self.enabled)

    def turn(self) -> None:
        self.enabled = not self.enabled
        torch.cuda.caching_allocator_enable(self.enabled)


class Uncached(Way):
    environment: ClassVar = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}


class Pluggable(Way):
    """Another allocator in the caching one's place."""

    def before_cuda(self) -> None:
        own = torch.cuda.memory.CUDAPluggableAllocator(str(self.library), "plain_take", "plain_give")
        torch.cuda.memory.change_current_allocator(own)


class Pool(Way):
    """A MemPool: the caching allocator has its memory from another one."""

    take, give = "plain_take", "plain_give"

    def around(self) -> contextlib.AbstractContextManager[Any]:
        return torch.cuda.use_mem_pool(made_pool(self.library, self.take, self.give))


class PartsOfOne(Pool):
    """The same, of an allocator that hands out parts of one piece; the ledger lies behind the parts, in that piece."""

    take, give = "parts_take", "parts_give"

    def ledger(self) -> torch.Tensor:
        own = ctypes.CDLL(str(self.library))
        own.pool_of.restype = c_void_p
        own.pool_bytes.restype = c_size_t
        return viewed(own.pool_of(self.rank) + own.pool_bytes() - 4 * LEDGER, LEDGER)


class TwoPools(Way):
    """Pools of two allocators beside the default one, where the optimizer has its moments; the ledger moves between
    them."""

    def around(self) -> contextlib.AbstractContextManager[Any]:
        self.pools = [made_pool(self.library, kind.take, kind.give) for kind in (Pool, PartsOfOne)]
        with torch.cuda.use_mem_pool(self.pools[1]):
            self.kept = torch.zeros(LEDGER, device="cuda")
        return torch.cuda.use_mem_pool(self.pools[0])

    def ledger(self) -> torch.Tensor:
        return self.kept

    def turn(self) -> None:
        self.pools.reverse()
        with torch.cuda.use_mem_pool(self.pools[1]):
            self.kept.data = self.kept.clone()


class Plain(Way):
    """Memory of PyTorch, with a ledger by cudaMalloc, as extensions and libraries have theirs."""

    allocate: ClassVar[tuple[Any, ...]] = ("cudaMalloc",)

    def ledger(self) -> torch.Tensor:
        address = c_uint64()
        name, *more = self.allocate
        called(name, ctypes.byref(address), c_size_t(4 * LEDGER), *more)
        return viewed(address.value, LEDGER)


class Driver(Plain):
    allocate = ("cuMemAlloc_v2",)


class Ordered(Plain):
    allocate = ("cudaMallocAsync", c_uint64(0))


class Small(Plain):
    """A small piece, which shares its memory with others of its kind."""

    def ledger(self) -> torch.Tensor:
        address = c_uint64()
        called("cudaMalloc", ctypes.byref(address), c_size_t(4096))
        return viewed(address.value, 1024)


class Pitched(Plain):
    """Two rows of cudaMallocPitch. The second one is the ledger; it goes to the first one and back in each step."""

    def ledger(self) -> torch.Tensor:
        address, self.pitch = c_uint64(), c_size_t()
        row = c_size_t(4 * LEDGER)
        called("cudaMallocPitch", ctypes.byref(address), ctypes.byref(self.pitch), row, c_size_t(2))
        assert self.pitch.value > 4 * LEDGER, "the second row begins behind a gap"
        self.rows = [viewed(address.value + row * self.pitch.value, LEDGER) for row in range(2)]
        return self.rows[1]

    def pass_on(self, ledger: torch.Tensor) -> None:
        on_device, stream = 3, c_void_p(torch.cuda.current_stream().cuda_stream)
        first, second = (c_void_p(one.data_ptr()) for one in self.rows)
        size = c_size_t(4 * LEDGER), c_size_t(1)
        called("cudaMemcpy2DAsync", first, self.pitch, second, self.pitch, *size, on_device, stream)
        ledger.zero_()
        called("cudaMemcpy2DAsync", second, self.pitch, first, self.pitch, *size, on_device, stream)


class Nccl(Plain):
    """A MemPool with memory of ncclMemAlloc, as for collectives without copies; so is the ledger, by hand. The group's
    own `mem_allocator` is refused by PyTorch, as wherever the device has no multicast."""

    allocate = ("ncclMemAlloc",)

    def around(self) -> contextlib.AbstractContextManager[Any]:
        return torch.cuda.use_mem_pool(made_pool(self.library, "nccl_take", "nccl_give"))


class Expandable(Way):
    """Segments that grow, made while the other GPU is the current one."""

    def before_cuda(self) -> None:
        torch.cuda.memory._set_allocator_settings("expandable_segments:True")

    @contextlib.contextmanager
    def around(self) -> Iterator[None]:
        torch.cuda.set_device(1 - self.rank)
        yield
        torch.cuda.set_device(self.rank)

    def ledger(self) -> torch.Tensor:
        return torch.zeros(LEDGER, device=torch.device("cuda", self.rank))


class AsyncBackend(Way):
    environment: ClassVar = {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}


class Graphed(Way):
    """The ledger lies in a graph's private pool, and is written by the graph."""

    def ledger(self) -> torch.Tensor:
        self.graph, self.passing = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        start = torch.zeros(LEDGER, device="cuda")
        with torch.cuda.graph(self.graph):
            ledger = start * 0.5
        self.graph.replay()
        with torch.cuda.graph(self.passing, pool=self.graph.pool()):
            ledger.mul_(0.75).add_(0.125)
        return ledger

    def turn(self) -> None:
        self.passing.replay()


class Pinned(Way):
    """The ledger goes to pinned memory and comes back from there in each step."""

    def ledger(self) -> torch.Tensor:
        self.host = torch.zeros(LEDGER).pin_memory()
        return torch.zeros(LEDGER, device="cuda")

    def pass_on(self, ledger: torch.Tensor) -> None:
        self.host.copy_(ledger)
        ledger.copy_(self.host)


class PinnedKernel(Pinned):
    """The same, but operators write pinned memory and read it, at its own address. What they left there last is the
    program's when the step is over."""

    def ledger(self) -> torch.Tensor:
        ledger = super().ledger()
        address, here = self.host.data_ptr(), c_uint64()
        called("cudaHostGetDevicePointer", ctypes.byref(here), c_void_p(address), 0)
        assert here.value == address
        self.view = viewed(address, LEDGER)
        return ledger

    def pass_on(self, ledger: torch.Tensor) -> None:
        torch.mul(ledger, 2, out=self.view)
        torch.mul(self.view, 0.5, out=ledger)

    def check(self, ledger: torch.Tensor) -> None:
        torch.cuda.synchronize()
        assert torch.equal(self.host[:-1], 2 * ledger[:-1].cpu())


WAYS: dict[str, type[Way]] = {
    "caching": Way,
    "off": Off,
    "off-and-on": OffAndOn,
    "uncached": Uncached,
    "pluggable": Pluggable,
    "pool": Pool,
    "parts-of-one": PartsOfOne,
    "two-pools": TwoPools,
    "nccl": Nccl,
    "malloc": Plain,
    "pitch": Pitched,
    "driver": Driver,
    "ordered": Ordered,
    "small": Small,
    "expandable": Expandable,
    "async-backend": AsyncBackend,
    "graph": Graphed,
    "pinned": Pinned,
    "pinned-kernel": PinnedKernel,
}


class Training:
    def __init__(self, way: Way) -> None:
        self.way = way
        way.begin()
        torch.manual_seed(0)
        with way.around():
            layers = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH))
            layers.to(torch.device("cuda", way.rank))
            self.ledger = way.ledger()
        self.layers = layers
        self.model = DistributedDataParallel(layers)
        self.optimizer = torch.optim.AdamW(self.model.parameters())

    def step(self, number: int) -> str:
        if number and number % TURN == 0:
            self.way.turn()
        generator = torch.Generator().manual_seed(2 * number + self.way.rank)
        loss = self.model(torch.randn(8, WIDTH, generator=generator).cuda()).square().mean()
        with torch.no_grad():
            self.ledger.mul_(0.5).add_(loss.detach())
            self.way.pass_on(self.ledger)
        (loss + self.ledger[:8].mean()).backward()
        self.optimizer.step()
        with torch.no_grad():
            self.ledger[-1:].add_(self.layers[0].weight[0, :1])
        self.optimizer.zero_grad(set_to_none=number % 2 == 0)
        self.way.check(self.ledger)
        return self.digest()

    def digest(self) -> str:
        state = [value for one in self.optimizer.state.values() for value in one.values()]
        sha = hashlib.sha256()
        for tensor in (*self.layers.parameters(), *state, self.ledger):
            sha.update(tensor.detach().cpu().numpy().tobytes())
        return sha.hexdigest()


def main(rank: int, folder: Path, way: str) -> None:
    own = WAYS[way](rank, folder / "allocators.so")
    if own.environment.items() - os.environ.items():  # PyTorch looks at it as it is loaded
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **own.environment})
    own.before_cuda()
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    training = Training(own)
    for number, _ in enumerate(sys.stdin):
        print(number, training.step(number), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
