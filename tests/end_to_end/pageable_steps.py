"""A program that copies ordinary memory, megabytes each way, uses its buffers again at once, and saves its state.

Prints one line per step: a hash of what came back. Equal runs print equal lines. Arguments: steps.
"""

from __future__ import annotations

import hashlib
import io
import sys
import threading

import torch

WIDTH = 600_000  # floats: three pieces of a copy, of which the last is no whole one


def hash_of(*values: bytes) -> str:
    return hashlib.sha256(b"".join(values)).hexdigest()


def saved(weight: torch.Tensor) -> bytes:
    file = io.BytesIO()
    torch.save({"weight": weight}, file)
    return file.getvalue()


def beside(out: list[bytes]) -> threading.Thread:
    """Another thread that copies at the same time, on a stream of its own."""

    def run() -> None:
        with torch.cuda.stream(torch.cuda.Stream()):
            for number in range(3):
                there = torch.full((WIDTH // 2,), number, dtype=torch.float32).to("cuda")
                out.append((there * 2).cpu().numpy().tobytes())

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def main() -> None:
    steps = int(sys.argv[1])
    random = torch.Generator().manual_seed(1)
    weight = torch.nn.Parameter(torch.zeros(WIDTH, device="cuda"))
    optimizer = torch.optim.SGD([weight], lr=0.5, momentum=0.9)
    batch = torch.empty(WIDTH)
    for step in range(steps):
        others: list[bytes] = []
        thread = beside(others)
        batch.copy_(torch.rand(WIDTH, generator=random))
        moved = batch.to("cuda", non_blocking=True)
        batch.fill_(float("nan"))  # the bytes are taken already
        weight.grad = moved
        raw = (moved * 1000).to(torch.uint8).cpu()  # no numbers that a replay could compare
        thread.join()
        optimizer.step()
        print(step, hash_of(weight.detach().cpu().numpy().tobytes(), raw.numpy().tobytes(), *others), flush=True)
        print(step, hash_of(saved(weight)), flush=True)
    shared = [line for line in open("/proc/self/maps") if "memfd:jitc-pinned" in line]  # noqa: SIM115
    print("shared" if shared else "not shared")


if __name__ == "__main__":
    main()
