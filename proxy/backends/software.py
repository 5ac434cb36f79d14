"""The software device: as many GPUs in host memory as the service is configured for.

Called by: backends.open_backend. Promise: a GPU's uuid depends on the service's socket and its number alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from .base import Assignment, GpuFacts, HealthEvent, HealthWatch, NoDevice

if TYPE_CHECKING:
    from ..common.config import Config

MEMORY = 4 << 30
#: PyTorch chooses its kernels by it.
CAPABILITY = (8, 0)


class SoftwareBackend:
    """See above."""

    device = "software"

    def __init__(self, config: Config) -> None:
        if config.workers_per_gpu > 1:
            raise NoDevice("--workers-per-gpu shares a physical GPU; a software device has as many GPUs as --gpus says")
        self.address_base = config.address_bases[0]
        self._threads = config.operator_threads()
        self._memory = config.memory_limit or MEMORY
        self.gpus = [self._facts(config.socket, index) for index in range(config.gpus or 1)]

    def assignment(self, index: int) -> Assignment:
        return Assignment(memory_limit=self._memory, threads=self._threads)

    def watch(self, report: Callable[[HealthEvent], None]) -> HealthWatch | None:
        return None

    def _facts(self, socket: str, index: int) -> GpuFacts:
        return GpuFacts(
            name="jitc software device",
            uuid=hashlib.sha256(f"{self.device}:{socket}:{index}".encode()).hexdigest()[:32],
            memory_total=self._memory,
            capability=CAPABILITY,
            multiprocessors=self._threads,
            physical=index,
        )
