"""The interface between a kind of device and the node service.

Called by: the service (which GPUs exist), the Node service (what programs learn of them), recovery (what a new worker
is assigned). Promise: everything here is known at the start and does not change; later events of a GPU are reported
through `watch`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol


class NoDevice(Exception):
    """No GPU of the wanted kind can be served; the text says why and what to do."""


@dataclass(frozen=True)
class GpuFacts:
    """A GPU as programs see it. Several of these can share one physical GPU."""

    name: str
    uuid: str  # 16 bytes in hex; unique also where the physical GPU is shared
    memory_total: int
    capability: tuple[int, int]
    multiprocessors: int
    attributes: Mapping[int, int] = field(default_factory=dict)  # CUdevice_attribute -> value
    physical: int = 0  # GPUs with the same number share one; they fail together
    cudnn: bool = False  # its workers have libcudnn


@dataclass(frozen=True)
class Assignment:
    """The data that a worker of a GPU needs beside the GPU's number (AssignRequest of worker.proto)."""

    memory_limit: int
    threads: int
    ordinal: int = 0
    libraries: Mapping[str, str] = field(default_factory=dict)  # found ones: option -> path
    environment: Mapping[str, str] = field(default_factory=dict)  # set before the device is opened


@dataclass(frozen=True)
class HealthEvent:
    """A report on a physical GPU by the device's own monitoring."""

    physical: int
    cause: str  # "xid", "ecc-error", "device-lost"
    message: str
    lost: bool = False  # the GPU cannot be used before it is reset


class HealthWatch(Protocol):
    """A running watch over the health of all GPUs."""

    def stop(self) -> None: ...


class Backend(Protocol):
    """One kind of device on this node."""

    device: str
    gpus: list[GpuFacts]
    address_base: int  # where the address ranges of all sessions begin
    worker_overhead: int  # bytes of a GPU's memory that each of several workers there takes beside its share

    def assignment(self, index: int, guest: int = 0) -> Assignment:
        """Returns a worker's assignment. guest: a number for a worker whose rank shares its GPU with one of its job."""

    def watch(self, report: Callable[[HealthEvent], None]) -> HealthWatch | None:
        """Starts to watch, if the device can be watched; report is called from a thread of its own."""
