"""Backward passes while threads that Python did not make come and go, as those of data loaders and of libraries do.

Run by test_order.py under `--check-order`, which looks for the thread that began each pass. A thread of the C library
calls Python: the interpreter makes its state for it at that moment, without the GIL.
"""

from __future__ import annotations

import ctypes
import sys
import threading

import torch

PASSES = 300
LIBRARY = ctypes.CDLL(None)


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
def foreign(argument: int | None) -> int | None:
    return argument


def come_and_go(over: threading.Event) -> None:
    thread = ctypes.c_ulong()
    while not over.is_set():
        if LIBRARY.pthread_create(ctypes.byref(thread), None, foreign, None) == 0:
            LIBRARY.pthread_join(thread, None)


def main() -> None:
    over = threading.Event()
    makers = [threading.Thread(target=come_and_go, args=(over,)) for _ in range(3)]
    for one in makers:
        one.start()
    try:
        x = torch.ones(8, 8, device="cuda", requires_grad=True)
        for _ in range(PASSES):
            (x * x).sum().backward()
        assert x.grad is not None
        right = bool((x.grad == 2 * PASSES).all())
    finally:
        over.set()
        for one in makers:
            one.join()
    sys.stdout.write("right\n" if right else "WRONG\n")


if __name__ == "__main__":
    main()
