"""The fake NCCL through ctypes, over a copy of the fake driver; also the program of one rank as a process."""

from __future__ import annotations

import ctypes
import os
import signal
import struct
import sys
import time
from pathlib import Path
from typing import Any

from fake_driver import SECONDS, Driver, copied

SUCCESS, SYSTEM_ERROR, INTERNAL_ERROR, INVALID_ARGUMENT, INVALID_USAGE, IN_PROGRESS = 0, 2, 3, 4, 5, 7
INT64, FLOAT16, FLOAT32, FLOAT64, BFLOAT16 = 4, 6, 7, 8, 9
SUM, PROD, MAX, MIN, AVG = range(5)
UNDEFINED = -(1 << 31)


class UniqueId(ctypes.Structure):
    """ncclUniqueId, which goes by value."""

    _fields_ = (("internal", ctypes.c_byte * 128),)


def config(blocking: int) -> bytes:
    """ncclConfig_t."""
    name = struct.pack("<QIIiiiixxxxxxxxii", 80, 0xCAFEBEEF, 22809, blocking, *[UNDEFINED] * 5)
    return name + bytes(8) + struct.pack("<6i", *[UNDEFINED] * 6)


class Nccl:
    """ncclXxx functions as attributes."""

    def __init__(self, driver: Driver, folder: Path) -> None:
        os.environ["JITC_FAKE_CUDA"] = str(driver.path)
        self.library = ctypes.CDLL(str(copied("nccl", folder)))
        self.library.ncclCommInitRankConfig.argtypes = (
            ctypes.POINTER(ctypes.c_void_p), ctypes.c_int, UniqueId, ctypes.c_int, ctypes.c_char_p,
        )  # fmt: skip
        self.library.ncclGetLastError.restype = ctypes.c_char_p

    def __getattr__(self, name: str) -> Any:
        return getattr(self.library, name)

    def unique_id(self) -> UniqueId:
        out = UniqueId()
        assert self.ncclGetUniqueId(ctypes.byref(out)) == 0
        return out


class Rank:
    """A rank: its device's context, a stream, a communicator."""

    def __init__(self, driver: Driver, nccl: Nccl, device: int) -> None:
        self.driver, self.nccl = driver, nccl
        self.context = driver.make("cuDevicePrimaryCtxRetain", device)
        self.use()
        self.stream = driver.stream()
        self.comm = ctypes.c_void_p()

    def use(self) -> None:
        self.driver.ok("cuCtxSetCurrent", ctypes.c_void_p(self.context))

    def init(self, size: int, unique: UniqueId, rank: int, blocking: int = 0) -> int:
        self.use()
        self.comm = ctypes.c_void_p()
        arguments = (ctypes.byref(self.comm), size, unique, rank, config(blocking))
        return int(self.nccl.ncclCommInitRankConfig(*arguments))

    def state(self) -> int:
        out = ctypes.c_int()
        assert self.nccl.ncclCommGetAsyncError(self.comm, ctypes.byref(out)) == 0
        return out.value

    def settled(self) -> int:
        """The state after what is in progress."""
        until = time.monotonic() + SECONDS
        while (state := self.state()) == IN_PROGRESS:
            assert time.monotonic() < until, "still in progress"
            os.sched_yield()
        return state

    def array(self, form: str, values: list[Any]) -> int:
        self.use()
        content = struct.pack(f"<{len(values)}{form}", *values)
        address = self.driver.allocate(max(len(content), 1))
        self.driver.write(address, content)
        return address

    def values(self, form: str, address: int, count: int) -> list[Any]:
        self.use()
        self.driver.synchronize(self.stream)
        return list(struct.unpack(f"<{count}{form}", self.driver.read(address, count * struct.calcsize(form))))

    def call(self, name: str, *args: Any) -> int:
        """An operation: addresses as integers, communicator and stream are added."""
        self.use()
        numbers = [ctypes.c_uint64(each) for each in args]
        return int(getattr(self.nccl, name)(*numbers, self.comm, ctypes.c_void_p(self.stream)))

    def run(self, name: str, *args: Any) -> None:
        """An operation of a communicator that must not block."""
        assert self.call(name, *args) == IN_PROGRESS
        assert self.settled() == SUCCESS

    def abort(self) -> None:
        assert self.nccl.ncclCommAbort(self.comm) == 0


def main(folder: str, rank: int, size: int) -> None:
    """Joins, adds up a large array piece by piece, tells the result of joining and the sum."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: a rank waits for its peer without limit
    own = Path(folder) / str(rank)
    own.mkdir()
    driver = Driver(own)
    driver.start()
    one = Rank(driver, Nccl(driver, own), 0)
    unique = Path(folder) / "unique"
    if rank == 0:
        (Path(folder) / "new").write_bytes(bytes(one.nccl.unique_id()))
        (Path(folder) / "new").rename(unique)
    until = time.monotonic() + SECONDS
    while not unique.exists():
        assert time.monotonic() < until
    joined = one.init(size, UniqueId.from_buffer_copy(unique.read_bytes()), rank, blocking=1)
    print(joined)
    if joined:
        print((one.nccl.ncclGetLastError(None) or b"").decode())
        return
    count = 200_000  # several pieces
    place = one.array("q", [rank + each for each in range(count)])
    assert one.call("ncclAllReduce", place, place, count, INT64, SUM) == 0
    out = one.values("q", place, count)
    print(out == [sum(range(size)) + size * each for each in range(count)])
    assert one.nccl.ncclCommDestroy(one.comm) == 0
    driver.end()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
