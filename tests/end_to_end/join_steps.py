"""A program that joins a communicator, run by test_joins.py: `join_steps.py GPU RANKS RANK ID`.

ID is the unique id in hex, or "new": then its own is the first line that it prints. On a line of standard input it
joins, and prints the result and the reason.
"""

from __future__ import annotations

import ctypes
import sys


class UniqueId(ctypes.Structure):
    _fields_ = (("bytes", ctypes.c_uint8 * 128),)


def main(gpu: int, ranks: int, rank: int, name: str) -> None:
    nccl = ctypes.CDLL(None)
    nccl.ncclGetLastError.restype = ctypes.c_char_p
    unique_id, comm = UniqueId(), ctypes.c_uint64()
    if name == "new":
        nccl.ncclGetUniqueId(ctypes.byref(unique_id))
        print(bytes(unique_id.bytes).hex(), flush=True)
    else:
        unique_id.bytes[:] = bytes.fromhex(name)
    if nccl.cudaSetDevice(gpu):
        sys.exit("cudaSetDevice failed")
    for _ in sys.stdin:
        result = nccl.ncclCommInitRank(ctypes.byref(comm), ranks, unique_id, rank)
        why = nccl.ncclGetLastError(ctypes.c_uint64(0)).decode() if result else ""
        print(result, why, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
