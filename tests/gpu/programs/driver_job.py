"""A rank of a training loop on the driver and NCCL alone, told what to do a JSON line at a time: no PyTorch.

{"do": "id"}                   rank 0 only: an id for NCCL; {"do": "join", "id": ID} then joins all ranks
{"do": "train", "steps": N}    from scratch; a number of every step, to the last bit, and a hash of all memory
{"do": "more", "steps": N}     goes on where the newest one ended

Called by: steps/driver.py. Environment: RANK, WORLD_SIZE, GPU; LIBCUDA and LIBNCCL (paths; none: what is preloaded).
Every step's result needs all earlier ones, on this rank and, by way of the gradients, on all others.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import struct
import sys
from ctypes import c_float, c_size_t, c_uint64
from typing import Any

from ..preflight import ptx
from ..preflight.driver import NON_BLOCKING, Driver
from ..preflight.nccl import Nccl
from . import answers
from .costs import LiveBlock

COUNT = 1 << 16
BYTES = 4 * COUNT
NAMES = ("weights", "momentum", "gradients", "inputs")
FORWARD, BACKWARD, OPTIMIZER = range(3)


class Rank:
    """Weights and momentum on one GPU."""

    def __init__(self) -> None:
        self.rank, self.ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self.driver = Driver(os.environ.get("LIBCUDA") or None)
        self.driver.context(int(os.environ["GPU"]))
        self.nccl = Nccl(os.environ.get("LIBNCCL") or None) if self.ranks > 1 else None
        self.comm = c_uint64()
        self.done = 0
        self.stream = self.driver.handle("cuStreamCreate", NON_BLOCKING)
        module = self.driver.module(ptx.ARITHMETIC)
        self.fill_f32, self.axpy_f32 = (self.driver.function(module, name) for name in ("fill_f32", "axpy_f32"))
        self.at = {name: self.driver.allocate(BYTES) for name in NAMES}
        blocks = [LiveBlock(one.value, BYTES, number) for number, one in enumerate(self.at.values(), 1)]
        self.live = (LiveBlock * len(blocks))(*blocks)
        self.jitc: Any = ctypes.CDLL(None)
        self.proxied = hasattr(self.jitc, "jitc_step_end")
        if self.proxied:
            for one in self.at.values():
                self.jitc.jitc_follow_memory(one, c_size_t(BYTES), 1)

    def id(self) -> dict[str, Any]:
        assert self.nccl is not None
        return {"id": self.nccl.unique_id()}

    def join(self, id: str) -> dict[str, Any]:
        assert self.nccl is not None
        self.comm = self.nccl.join(id, self.ranks, self.rank)
        return {}

    def train(self, steps: int) -> dict[str, Any]:
        for name in NAMES:
            self._fill(name, 0.5 if name == "weights" else 0.0)
        self.done = 0
        return self.more(steps)

    def more(self, steps: int) -> dict[str, Any]:
        losses = []
        for number in range(steps):
            self._step(self.done)
            self.done += 1
            losses.append(sum(struct.unpack("<16f", self._read("weights", 64))).hex())
            print(f"step {number + 1} of {steps}", file=sys.stderr, flush=True)
        state = hashlib.sha256(b"".join(self._read(name, BYTES) for name in NAMES)).hexdigest()
        return {"losses": losses, "state": state}

    def _step(self, number: int) -> None:
        self._phase(FORWARD)
        values = struct.pack(f"<{COUNT}f", *(((at * 7 + number * 13 + self.rank) % 31) / 31 for at in range(COUNT)))
        self.driver("cuMemcpyHtoDAsync_v2", self.at["inputs"], values, c_size_t(BYTES), self.stream)
        self._fill("gradients", 0.0)
        self._add("gradients", "weights", 0.1)
        self._phase(BACKWARD)
        self._add("gradients", "inputs", -0.25)
        if self.nccl is not None:
            self.nccl.all_reduce(self.at["gradients"], COUNT, self.comm, self.stream)
        self._phase(OPTIMIZER)
        if self.proxied:
            self.jitc.jitc_step_begin_live(self.live, c_size_t(len(self.live)))
        self._add("momentum", "gradients", 0.5)
        self._add("weights", "momentum", -0.0625)
        if self.proxied:
            self.jitc.jitc_step_end(self.live, c_size_t(len(self.live)))

    def _phase(self, number: int) -> None:
        if self.proxied:
            self.jitc.jitc_set_phase(number)

    def _fill(self, name: str, value: float) -> None:
        self._launch(self.fill_f32, self.at[name], c_float(value), c_uint64(COUNT))

    def _add(self, to: str, what: str, factor: float) -> None:
        self._launch(self.axpy_f32, self.at[to], self.at[what], c_float(factor), c_uint64(COUNT))

    def _launch(self, function: c_uint64, *parameters: Any) -> None:
        self.driver.launch(function, self.stream, *parameters, blocks=(COUNT + 255) // 256)

    def _read(self, name: str, size: int) -> bytes:
        back = ctypes.create_string_buffer(size)
        self.driver("cuMemcpyDtoHAsync_v2", back, self.at[name], c_size_t(size), self.stream)
        self.driver("cuStreamSynchronize", self.stream)
        return back.raw


def main() -> int:
    out = answers()
    rank = Rank()
    print(json.dumps({"ready": True}), file=out)
    actions = {"id": rank.id, "join": rank.join, "train": rank.train, "more": rank.more}
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(actions[request.pop("do")](**request)), file=out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
