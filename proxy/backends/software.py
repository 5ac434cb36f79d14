"""The software device: as many GPUs in host memory as the service is configured for.

Called by: backends.open_backend. Promises: a GPU's uuid depends on the service's socket and its number alone; by
default a GPU has no more memory than its share of half of what a control group (a container) may have, and a service
that asks for more than that group has is warned.
"""

from __future__ import annotations

import hashlib
import mmap
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from jitc.client_shim.native_parts import torch_build
from jitc.client_shim.native_parts.store import is_of_a_part
from jitc.ops.options.table import MEMORY as MEMORY_LIMITS
from jitc.ops.options.values import MIB

from ..common import host_memory, operators
from .base import Assignment, GpuFacts, HealthEvent, HealthWatch, NoDevice

if TYPE_CHECKING:
    from ..common.config import Config

MEMORY = 4 << 30
#: Compute capability, by which PyTorch chooses its kernels.
CAPABILITY = (8, 0)


def refuse_another_release(library: Path | None, release: str | None) -> None:
    """Raises NoDevice if the workers' library was built for another PyTorch than they would load; the library is not
    loaded for that. Without PyTorch there is nothing to compare: workers serve what needs no operators."""
    if library is None or release is None or is_of_a_part(library):
        return
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as contents:
        found = re.search(rb"jitc operators built for PyTorch (\S+) ", contents)
        built_for = found[1].decode() if found else "an unknown release"
    if built_for.split("+")[0] != release.split("+")[0]:
        raise NoDevice(
            f"{library} was built for PyTorch {built_for}, and not for the one here ({release}): "
            "run 'make build' with it"
        )


def _ready() -> None:
    """Makes sure that workers find their library of operators. Raises NoDevice."""
    torch = torch_build.installed()
    try:
        library = operators.made_ready()
    except (operators.CannotBuild, operators.UnsafeStore) as error:
        raise NoDevice(str(error)) from None
    refuse_another_release(library, torch.version if torch is not None else None)


def usual_memory(gpus: int) -> int:
    """Returns the default memory of each GPU: the other half is for copies, journals, and the workers themselves."""
    limit = host_memory.limit()
    share = limit.bytes // 2 // gpus // MIB * MIB if limit else MEMORY
    return max(MEMORY_LIMITS.least, min(MEMORY, share))


def _warn_of(memory: int, gpus: int) -> None:
    limit = host_memory.limit()
    if limit is not None and memory * gpus > limit.bytes:
        print(
            f"jitc-proxyd: --memory-limit {host_memory.size_text(memory)} for {gpus} GPU{'s' * (gpus > 1)} is more "
            f"than the service's control group may have ({limit.text()}); a worker that the kernel ends for that gives "
            "its program out of memory",
            file=sys.stderr,
            flush=True,
        )


class SoftwareBackend:
    """The back end for the software device."""

    device = "software"
    worker_overhead = 0

    def __init__(self, config: Config) -> None:
        if config.workers_per_gpu > 1:
            raise NoDevice("--workers-per-gpu shares a physical GPU; a software device has as many GPUs as --gpus says")
        _ready()
        self.address_base = config.address_bases[0]
        self._threads = config.operator_threads()
        count = config.gpus or 1
        self._memory = config.memory_limit or usual_memory(count)
        _warn_of(self._memory, count)
        self.gpus = [self._facts(config.socket, index) for index in range(count)]

    def assignment(self, index: int, guest: int = 0) -> Assignment:
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
