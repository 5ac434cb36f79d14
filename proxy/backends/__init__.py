"""What a kind of device needs on the Python side: discovery, properties, a worker's options, health."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import Backend, NoDevice

if TYPE_CHECKING:
    from ..common.config import Config

#: Kinds of devices, as --device names them.
DEVICES = ("software", "cuda")


def open_backend(config: Config) -> Backend:
    """The back end that the service was asked for. Raises NoDevice with a text that says what to do."""
    if config.device == "cuda":
        from .cuda.backend import CudaBackend

        return CudaBackend(config)
    if config.device == "software":
        from .software import SoftwareBackend

        return SoftwareBackend(config)
    raise NoDevice(f"there is no device {config.device!r}; choose one of {', '.join(DEVICES)}")
