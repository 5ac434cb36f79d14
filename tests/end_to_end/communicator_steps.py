"""A rank that makes, uses and destroys communicators when it is told to: `communicator_steps.py GPU RANKS RANK NAME`.

Both ranks name communicators alike, by NAME and a number that counts up, so that they need not find each other. Lines:
"make N" (more communicators), "sum" (on the newest one: the number on the device becomes the sum of all ranks'),
"destroy N" (the newest ones), "abort N", "cycle N" (each time: make, sum, destroy), "one" (the number becomes 1),
"boundary", "read". The answer is the number of communicators, or what went wrong; of "read" the number on the device.
"""

from __future__ import annotations

import ctypes
import hashlib
import sys

INT64, SUM, TO_DEVICE, TO_HOST = 4, 0, 1, 2


class UniqueId(ctypes.Structure):
    _fields_ = (("bytes", ctypes.c_uint8 * 128),)


class Failed(Exception):
    """A call has."""


class Rank:
    def __init__(self, gpu: int, ranks: int, rank: int, name: str) -> None:
        self.api = ctypes.CDLL(None)
        self.api.ncclGetLastError.restype = ctypes.c_char_p
        self.ranks, self.rank, self.name = ranks, rank, name
        self.number = 0
        self.there: list[ctypes.c_void_p] = []
        self.memory = ctypes.c_void_p()
        self.cuda("cudaSetDevice", gpu)
        self.cuda("cudaMalloc", ctypes.byref(self.memory), ctypes.c_size_t(8))
        self.copy(ctypes.c_int64(1), True)

    def cuda(self, name: str, *arguments: object) -> None:
        if status := getattr(self.api, name)(*arguments):
            raise Failed(f"{name} {status}")

    def nccl(self, name: str, *arguments: object) -> None:
        if status := getattr(self.api, name)(*arguments):
            raise Failed(f"{name} {status} {self.api.ncclGetLastError(ctypes.c_void_p()).decode()}")

    def copy(self, number: ctypes.c_int64, to_device: bool) -> None:
        host, device = ctypes.byref(number), self.memory
        ends = (device, host, 8, TO_DEVICE) if to_device else (host, device, 8, TO_HOST)
        self.cuda("cudaMemcpy", ends[0], ends[1], ctypes.c_size_t(8), ends[3])

    def make(self) -> None:
        identity = UniqueId()
        identity.bytes[:] = hashlib.shake_256(f"{self.name} {self.number}".encode()).digest(128)
        comm = ctypes.c_void_p()
        self.nccl("ncclCommInitRank", ctypes.byref(comm), self.ranks, identity, self.rank)
        self.number += 1
        self.there.append(comm)

    def sum(self) -> None:
        memory, count = self.memory, ctypes.c_size_t(1)
        self.nccl("ncclAllReduce", memory, memory, count, INT64, SUM, self.there[-1], ctypes.c_void_p())

    def destroy(self, how: str = "ncclCommDestroy") -> None:
        self.nccl(how, self.there.pop())

    def cycle(self) -> None:
        self.make()
        self.sum()
        self.destroy()

    def boundary(self) -> None:
        self.api.jitc_step_begin()
        self.api.jitc_step_end(None, ctypes.c_size_t(0))

    def read(self) -> int:
        number = ctypes.c_int64()
        self.copy(number, False)
        return number.value

    def told(self, what: str, times: int) -> object:
        if what == "read":
            return self.read()
        acts = {
            "make": self.make, "sum": self.sum, "destroy": self.destroy, "cycle": self.cycle, "boundary": self.boundary,
            "abort": lambda: self.destroy("ncclCommAbort"), "one": lambda: self.copy(ctypes.c_int64(1), True),
        }  # fmt: skip
        for _ in range(times):
            acts[what]()
        return len(self.there)


def main(gpu: int, ranks: int, rank: int, name: str) -> None:
    one = Rank(gpu, ranks, rank, name)
    for line in sys.stdin:
        what, *times = line.split()
        try:
            print(one.told(what, int(times[0]) if times else 1), flush=True)
        except Failed as error:
            print(f"{len(one.there)} {error}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
