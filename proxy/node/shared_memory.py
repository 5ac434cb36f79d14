"""The memory keeper: holds, by descriptor, the shared memory that must outlive workers.

Called by: the session registry and the coordinator. Promises: no piece has a name in /dev/shm or anywhere else; workers
open it through /proc/<pid of the service>/fd/<n>; it vanishes when the service releases it, or dies.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from dataclasses import dataclass

from ..common.config import Config


class NoSpace(Exception):
    """There is no room for shared memory, or for spilled journals."""


@dataclass(eq=False)
class Memory:
    """One piece, as a descriptor of this process."""

    fd: int
    size: int

    @property
    def path(self) -> str:
        return f"/proc/{os.getpid()}/fd/{self.fd}"

    def used(self) -> int:
        """Bytes that really take memory (pieces are sparse)."""
        return os.fstat(self.fd).st_blocks * 512

    def close(self) -> None:
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)


def shared(name: str, size: int) -> Memory:
    """Anonymous, zeroed, sparse."""
    try:
        fd = os.memfd_create(f"jitc-{name}", os.MFD_CLOEXEC)
    except OSError as error:
        raise NoSpace(f"no shared memory for {name}: {error.strerror}") from None
    return _sized(fd, name, size)


def sealed(name: str, size: int, head: bytes) -> Memory:
    """Shared memory that begins with head, for a process that is not trusted: its size cannot be changed."""
    try:
        fd = os.memfd_create(f"jitc-{name}", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    except OSError as error:
        raise NoSpace(f"no shared memory for {name}: {error.strerror}") from None
    memory = _sized(fd, name, size)
    os.fchmod(fd, 0o600)
    os.pwrite(fd, head, 0)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    return memory


def spill_file(directory: str, size: int) -> Memory:
    """A sparse file without a name: it vanishes with the service, however the service ends."""
    try:
        fd = os.open(directory, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError:
        try:
            fd, path = tempfile.mkstemp(prefix="jitc-spill-", dir=directory)
            os.unlink(path)
        except OSError as error:
            raise NoSpace(f"no spill file in {directory}: {error.strerror}; choose another with --spill-dir") from None
    return _sized(fd, f"spilled journals in {directory}", size)


def _sized(fd: int, name: str, size: int) -> Memory:
    try:
        os.ftruncate(fd, size)
    except OSError as error:
        os.close(fd)
        raise NoSpace(f"no {size >> 20} MiB of room for {name}: {error.strerror}") from None
    return Memory(fd, size)


@dataclass(eq=False)
class SessionMemory:
    """The pieces of one session."""

    journal: Memory
    snapshot: Memory
    spill: Memory
    pinned: Memory | None  # shared with the client too

    @classmethod
    def create(cls, config: Config, token: str) -> SessionMemory:
        with contextlib.ExitStack() as made:

            def keep(memory: Memory) -> Memory:
                made.callback(memory.close)
                return memory

            one = cls(
                keep(shared("journal", config.journal_bytes)),
                keep(shared("snapshot", config.snapshot_bytes)),
                keep(spill_file(config.spill_dir, config.spill_bytes)),
                keep(sealed("pinned", config.pinned_bytes, token.encode())) if config.pinned_bytes else None,
            )
            made.pop_all()  # nothing is closed
            return one

    def close(self) -> None:
        for memory in (self.journal, self.snapshot, self.spill, self.pinned):
            if memory is not None:
                memory.close()
