"""The interface of a kind of device towards the node service.

Called by: the service (which GPUs there are), the Node service (what programs are told), recovery (what a
new worker is assigned with). Promise: everything here is known at the start and does not change; what
happens to a GPU later is told through `watch`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol


class NoDevice(Exception):
    """No GPU of the wanted kind can be served; the text says why and what to do."""


@dataclass(frozen=True)
class GpuFacts:
    """A GPU as programs see it. Several of them can be one physical GPU."""

    name: str
    uuid: str  # 16 bytes in hex, of its own also where the physical GPU is shared
    memory_total: int
    capability: tuple[int, int]
    multiprocessors: int
    attributes: Mapping[int, int] = field(default_factory=dict)  # CUdevice_attribute -> value
    physical: int = 0  # GPUs with the same number share one; they fail together
    cudnn: bool = False  # its workers have libcudnn


@dataclass(frozen=True)
class Assignment:
    """What a worker of a GPU is told beside the GPU's number (AssignRequest of worker.proto)."""

    memory_limit: int
    threads: int
    ordinal: int = 0
    libraries: Mapping[str, str] = field(default_factory=dict)  # name of the option -> path; those that are there
    environment: Mapping[str, str] = field(default_factory=dict)  # set before the device is opened


@dataclass(frozen=True)
class HealthEvent:
    """Something that the device's own monitoring says of a physical GPU."""

    physical: int
    cause: str  # "xid", "ecc-error", "device-lost"
    message: str
    lost: bool = False  # the GPU is of no use until somebody resets it


class HealthWatch(Protocol):
    """A running watch over the health of all GPUs."""

    def stop(self) -> None: ...


class Backend(Protocol):
    """One kind of device on this node."""

    device: str
    gpus: list[GpuFacts]
    address_base: int  # where the ranges of addresses of all sessions begin

    def assignment(self, index: int) -> Assignment: ...

    def watch(self, report: Callable[[HealthEvent], None]) -> HealthWatch | None:
        """Starts to watch, if the device can be watched; report is called from a thread of its own."""
