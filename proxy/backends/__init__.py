"""The needs of each kind of device on the Python side: discovery, properties, a worker's options, health.

Called by: the service (open_backend), the commands and the supervisor (KINDS). Promise: everything that depends on a
device's kind is answered by KINDS, or by the back end that opened the device; no other code compares its name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .base import Backend, NoDevice

if TYPE_CHECKING:
    from ..common.config import Config


def _software(config: Config) -> Backend:
    from .software import SoftwareBackend

    return SoftwareBackend(config)


def _cuda(config: Config) -> Backend:
    from .cuda.backend import CudaBackend

    return CudaBackend(config)


@dataclass(frozen=True)
class Kind:
    """The facts that hold for all devices of a kind, before one is opened."""

    open: Callable[[Config], Backend]
    runs_kernels: bool
    """It runs the machine code that programs bring along, through NVIDIA's libraries; else PyTorch's operators by name,
    with the CPU kernels that a worker has loaded."""
    deterministic: bool
    """An op that is run again gives the same bits."""
    fixed_layout: bool
    """Its driver goes by where the kernel has put a process's memory (layout.py)."""


#: Kinds by name, as --device has it.
KINDS = {
    "software": Kind(_software, runs_kernels=False, deterministic=True, fixed_layout=False),
    "cuda": Kind(_cuda, runs_kernels=True, deterministic=False, fixed_layout=True),
}


def open_backend(config: Config) -> Backend:
    """Opens the back end that the service is configured for. Raises NoDevice with a text that says what to do."""
    if config.device not in KINDS:
        raise NoDevice(f"there is no device {config.device!r}; choose one of {', '.join(KINDS)}")
    return KINDS[config.device].open(config)
