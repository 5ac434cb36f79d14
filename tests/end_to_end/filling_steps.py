"""A program on the CUDA driver's API that takes all the memory that it is told there is, run by test_cuda_service.py.

`filling_steps.py GPU`: for the first line on standard input it takes blocks until there are no more, for each later one
it makes a step; it prints the bytes that it has, the bytes that there are in all, and a hash of the blocks' words.
"""

from __future__ import annotations

import ctypes
import hashlib
import sys

from cuda_steps import call, cuda, start

BLOCK = 16 << 20
WORD = 4


def take() -> list[int]:
    blocks: list[int] = []
    address = ctypes.c_uint64()
    while cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(BLOCK)) == 0:
        blocks.append(address.value)
    return blocks


def total() -> int:
    free, all_ = ctypes.c_size_t(), ctypes.c_size_t()
    call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(all_))
    return all_.value


def main(gpu: int) -> None:
    start(gpu)
    blocks: list[int] = []
    for step, _ in enumerate(sys.stdin):
        blocks = blocks or take()
        cuda.jitc_step_begin()
        for number, block in enumerate(blocks):
            call(
                "cuMemsetD32Async",
                ctypes.c_uint64(block),
                ctypes.c_uint32(step * 1000 + number),
                ctypes.c_size_t(1),
                None,
            )
        cuda.jitc_step_end(None, ctypes.c_size_t(0))
        words, word = hashlib.sha256(), ctypes.create_string_buffer(WORD)
        for block in blocks:
            call("cuMemcpyDtoH_v2", word, ctypes.c_uint64(block), ctypes.c_size_t(WORD))
            words.update(word.raw)
        print(len(blocks) * BLOCK, total(), words.hexdigest(), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
