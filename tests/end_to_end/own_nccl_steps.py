"""A rank that calls NCCL itself, as inference engines and weight synchronisation do; run by test_own_nccl.py.

`own_nccl_steps.py RANK FOLDER MODE`: loads the library with ctypes by its path, while torch.distributed runs on gloo,
and does a step for every line on standard input. MODE train: data parallel, gradients are summed by NCCL. MODE serve:
no optimizer; rank 0 sends its weights, which it has changed, and both add up their parts of a layer. Prints a hash of
all that it holds.
"""

from __future__ import annotations

import ctypes
import hashlib
import sys
from ctypes import byref, c_int, c_size_t, c_void_p
from pathlib import Path

import torch
import torch.distributed as dist

SIZE, FLOAT, SUM = 64, 7, 0


class UniqueId(ctypes.Structure):
    _fields_ = (("bytes", ctypes.c_byte * 128),)


def library_path() -> str:
    """As such wrappers find it: in the wheel that PyTorch depends on, else by its name."""
    found = [one for place in sys.path for one in Path(place).glob("nvidia/nccl/lib/libnccl.so.2")]
    return str(found[0]) if found else "libnccl.so.2"


class Communicator:
    """As vLLM's and SGLang's wrappers have it."""

    def __init__(self, rank: int, ranks: int) -> None:
        self.nccl = ctypes.CDLL(library_path())
        self.nccl.ncclGetErrorString.restype = ctypes.c_char_p
        self.nccl.ncclCommInitRank.argtypes = [ctypes.POINTER(c_void_p), c_int, UniqueId, c_int]
        self.nccl.ncclAllReduce.argtypes = [c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p, c_void_p]
        self.nccl.ncclBroadcast.argtypes = self.nccl.ncclAllReduce.argtypes
        name, self.comm = UniqueId(), c_void_p()
        if rank == 0:
            self.check(self.nccl.ncclGetUniqueId(byref(name)))
        shared = torch.tensor(list(bytes(name)), dtype=torch.uint8)
        dist.broadcast(shared, 0)
        ctypes.memmove(byref(name), bytes(shared.tolist()), 128)
        self.check(self.nccl.ncclCommInitRank(byref(self.comm), ranks, name, rank))

    def check(self, status: int) -> None:
        if status:
            raise RuntimeError(self.nccl.ncclGetErrorString(status).decode())

    def sum(self, values: torch.Tensor) -> None:
        at, stream = values.data_ptr(), torch.cuda.current_stream().cuda_stream
        self.check(self.nccl.ncclAllReduce(at, at, values.numel(), FLOAT, SUM, self.comm, stream))

    def send_from_first(self, values: torch.Tensor) -> None:
        at, stream = values.data_ptr(), torch.cuda.current_stream().cuda_stream
        self.check(self.nccl.ncclBroadcast(at, at, values.numel(), FLOAT, 0, self.comm, stream))


class Training:
    def __init__(self, rank: int, communicator: Communicator) -> None:
        self.communicator = communicator
        self.model = torch.nn.Sequential(torch.nn.Linear(SIZE, SIZE), torch.nn.Tanh(), torch.nn.Linear(SIZE, 4)).cuda()
        self.optimizer = torch.optim.AdamW(self.model.parameters())

    def step(self) -> list[torch.Tensor]:
        self.model(torch.randn(8, SIZE, device="cuda")).square().mean().backward()
        for parameter in self.model.parameters():
            assert parameter.grad is not None
            self.communicator.sum(parameter.grad)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return list(self.model.parameters())


class Serving:
    def __init__(self, rank: int, communicator: Communicator) -> None:
        self.rank, self.communicator = rank, communicator
        self.weights = torch.randn(SIZE, SIZE, device="cuda") / 8
        self.state = torch.ones(8, SIZE, device="cuda")

    @torch.no_grad()
    def step(self) -> list[torch.Tensor]:
        if self.rank == 0:
            self.weights += 0.01 * torch.randn(SIZE, SIZE, device="cuda")
        self.communicator.send_from_first(self.weights)
        half = slice(self.rank * SIZE // 2, (self.rank + 1) * SIZE // 2)
        part = self.state[:, half] @ self.weights[half]
        self.communicator.sum(part)
        self.state = part.tanh()
        return [self.weights, self.state]


def main(rank: int, folder: Path, mode: str) -> None:
    torch.cuda.set_device(rank)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    torch.manual_seed(0)
    work = {"train": Training, "serve": Serving}[mode](rank, Communicator(rank, 2))
    for step, _ in enumerate(sys.stdin):
        torch.manual_seed(2 * step + rank)
        held = b"".join(one.detach().cpu().numpy().tobytes() for one in work.step())
        print(step, hashlib.sha256(held).hexdigest(), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
