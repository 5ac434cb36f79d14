"""NCCL called through ctypes, as vLLM and SGLang do, beside a gloo group: trained weights go to an engine each step."""

import ctypes
import sys
from ctypes import byref, c_int, c_size_t, c_void_p
from pathlib import Path

import torch
import torch.distributed as dist
from outcome import RANK, RANKS, Outcome, arguments
from torch import nn

FLOAT, SUM = 7, 0


class UniqueId(ctypes.Structure):
    _fields_ = (("bytes", ctypes.c_byte * 128),)


def library_path() -> str:
    found = [one for place in sys.path for one in Path(place).glob("nvidia/nccl/lib/libnccl.so.2")]
    return str(found[0]) if found else "libnccl.so.2"


class Communicator:
    """What such engines have under the name of PyNcclCommunicator."""

    def __init__(self) -> None:
        self.nccl, self.comm = ctypes.CDLL(library_path()), c_void_p()
        self.nccl.ncclGetErrorString.restype = ctypes.c_char_p
        self.nccl.ncclCommInitRank.argtypes = [ctypes.POINTER(c_void_p), c_int, UniqueId, c_int]
        self.nccl.ncclAllReduce.argtypes = [c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p, c_void_p]
        self.nccl.ncclBroadcast.argtypes = self.nccl.ncclAllReduce.argtypes
        name = UniqueId()
        if RANK == 0:
            self.check(self.nccl.ncclGetUniqueId(byref(name)))
        shared = torch.tensor(list(bytes(name)), dtype=torch.uint8)
        dist.broadcast(shared, 0)
        ctypes.memmove(byref(name), bytes(shared.tolist()), 128)
        self.check(self.nccl.ncclCommInitRank(byref(self.comm), RANKS, name, RANK))

    def check(self, status: int) -> None:
        if status:
            raise RuntimeError(self.nccl.ncclGetErrorString(status).decode())

    def all_reduce(self, values: torch.Tensor) -> None:
        at, stream = values.data_ptr(), torch.cuda.current_stream().cuda_stream
        self.check(self.nccl.ncclAllReduce(at, at, values.numel(), FLOAT, SUM, self.comm, stream))

    def broadcast(self, values: torch.Tensor) -> None:
        at, stream = values.data_ptr(), torch.cuda.current_stream().cuda_stream
        self.check(self.nccl.ncclBroadcast(at, at, values.numel(), FLOAT, 0, self.comm, stream))


given = arguments()
dist.init_process_group("gloo")
outcome = Outcome(given.out)
communicator = Communicator()
trained = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 8)).cuda()
engine = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 8)).cuda()
optimizer = torch.optim.AdamW(trained.parameters(), lr=1e-2)
data = torch.Generator().manual_seed(RANK)
for _ in range(given.steps):
    rows = torch.randn(16, 32, generator=data).cuda()
    with torch.no_grad():
        wanted = engine(rows).argmax(1)
    loss = nn.functional.cross_entropy(trained(rows), (wanted + 1) % 8)
    loss.backward()
    for one in trained.parameters():
        communicator.all_reduce(one.grad)
    optimizer.step()
    optimizer.zero_grad()
    with torch.no_grad():
        for mine, theirs in zip(engine.parameters(), trained.parameters(), strict=True):
            mine.copy_(theirs)
            communicator.broadcast(mine)
    outcome.step(loss.item())
outcome.done([*trained.state_dict().items(), *((f"engine.{name}", one) for name, one in engine.state_dict().items())])
dist.destroy_process_group()
