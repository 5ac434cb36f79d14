"""The memory keeper: shared memory that must outlive a worker is held here, by descriptor.

Called by: the session registry and the coordinator. Promises: nothing has a name in /dev/shm or
anywhere else; workers open it through /proc/<pid of the service>/fd/<n>; when the service lets go,
or dies, it is gone.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field


class NoSpace(Exception):
    """Shared memory or spill space cannot be had."""


@dataclass(eq=False)
class Memory:
    """One piece, as a descriptor of this process."""

    fd: int
    size: int

    @property
    def path(self) -> str:
        return f"/proc/{os.getpid()}/fd/{self.fd}"

    def used(self) -> int:
        """Bytes that really take memory (the pieces are sparse)."""
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


def spill_file(directory: str, size: int) -> Memory:
    """A sparse file without a name: it goes with the service, however that ends."""
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
    """What belongs to one session."""

    journal: Memory
    snapshot: Memory
    spill: Memory

    @classmethod
    def create(cls, journal_bytes: int, snapshot_bytes: int, spill_dir: str, spill_bytes: int) -> SessionMemory:
        made: list[Memory] = []
        try:
            made.append(shared("journal", journal_bytes))
            made.append(shared("snapshot", snapshot_bytes))
            made.append(spill_file(spill_dir, spill_bytes))
        except NoSpace:
            for memory in made:
                memory.close()
            raise
        return cls(*made)

    def close(self) -> None:
        for memory in (self.journal, self.snapshot, self.spill):
            memory.close()


@dataclass(eq=False)
class Communicator:
    """Who is in it, and its segments: one per generation, a new one after every recovery of a member."""

    ranks: int
    members: dict[int, int] = field(default_factory=dict)  # session -> rank
    generation: int = 0
    segment: Memory | None = None

    def renew(self) -> None:
        self.generation += 1
        self.close()

    def close(self) -> None:
        if self.segment is not None:
            self.segment.close()
            self.segment = None
