"""`jitc version --json`: what is installed here. Called by: commands/installed/version.py; schema.py and tables.py."""

from __future__ import annotations

from dataclasses import dataclass

from .model import says


@dataclass(frozen=True, kw_only=True)
class Version:
    """The versions of jitc, of what its parts agree on, and of what it runs with."""

    version: str = says("of jitc")
    protocol: int = says("of programs and service; different ones refuse each other")
    worker: int = says("of a service and the workers that it takes over from another")
    keeper: int = says("of a service and the keeper that holds what outlives it")
    board: int = says("of the memory that the workers of a job share")
    journal: int = says("of a session's journal")
    python: str = says("the Python that runs this")
    libc: str = says("the system's C library")
    torch: str | None = says("PyTorch in this Python; null: none")
    native_part: str | None = says(
        "folder of the native part for that PyTorch; null: it is built at its first use, or by `jitc build-torch`"
    )
