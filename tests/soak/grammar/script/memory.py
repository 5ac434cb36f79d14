"""Parts about memory: where it comes from, and what changes in it outside of optimizer steps.

Called by: run.py.
"""

from __future__ import annotations

import contextlib
from typing import Any

import torch

from .job import Part

SMALL, LARGE = 64, 1 << 18  # numbers


def expandable(on: bool) -> None:
    change = getattr(torch._C, "_accelerator_setAllocatorSettings", None) or torch.cuda.memory._set_allocator_settings
    change(f"expandable_segments:{on}")


class Buffer(Part):
    """Blocks that are written in each iteration, and which no optimizer knows."""

    COUNT = 4

    def prepare(self) -> None:
        self.pool = torch.cuda.MemPool() if self.choices["memory"] == "pool" else None
        self.blocks: list[torch.Tensor] = []
        self._make()

    def _make(self) -> None:
        memory = self.choices["memory"]
        with torch.cuda.use_mem_pool(self.pool) if self.pool else contextlib.nullcontext():
            if memory == "off":
                torch.cuda.caching_allocator_enable(False)
            elif memory == "expandable":
                expandable(True)
            size = SMALL if len(self.blocks) % 2 else 4 * self.job.width * self.job.width
            self.blocks.append(torch.zeros(size, device=self.job.device))
            if memory == "off":
                torch.cuda.caching_allocator_enable(True)
            elif memory == "expandable":
                expandable(False)

    def iterate(self, iteration: int) -> None:
        rows = self.batch(iteration).to(self.job.device).flatten()
        for at, block in enumerate(self.blocks):
            block[: len(rows)].mul_(0.5).add_(rows[: len(block)], alpha=at + 1.0)
        if self.choices["grows"] == "yes":
            self._make()
            if len(self.blocks) > self.COUNT:
                del self.blocks[0]

    def result(self) -> dict[str, Any]:
        return {"blocks": self.blocks}


class Offload(Part):
    """State that spends each second iteration on the host."""

    def prepare(self) -> None:
        size = SMALL if self.choices["sizes"] == "small" else LARGE
        self.state = torch.randn(size, generator=self.numbers(0)).to(self.job.device)
        self.host = torch.empty(size, pin_memory=self.choices["memory"] == "pinned")
        self.away = False

    def iterate(self, iteration: int) -> None:
        if self.away:
            self.state = self.host.to(self.job.device, non_blocking=True)
        self.state = self.state * 0.9 + iteration
        self.host.copy_(self.state, non_blocking=True)
        torch.cuda.current_stream().synchronize()
        self.away = not self.away
        if self.away:
            self.state = torch.zeros_like(self.state)  # what comes back is what the host has

    def result(self) -> dict[str, Any]:
        return {"state": self.state, "host": self.host}


class Allocator(Part):
    """In some iterations all memory that parts after it take comes from elsewhere."""

    def iterate(self, iteration: int) -> None:
        half = self.job.program["iterations"] // 2
        when = {"odd": iteration % 2 == 1, "late": iteration >= half, "early": iteration < half}
        on = when[self.choices["iterations"]]
        if self.choices["turned"] == "off":
            torch.cuda.caching_allocator_enable(not on)
        else:
            expandable(on)
