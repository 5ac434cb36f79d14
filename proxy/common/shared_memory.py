"""Shared memory that must outlive workers, and the service as well.

Called by: the registry of sessions, and recoveries (for blocks in transfer). Promises: no piece has a name in /dev/shm
or anywhere else; the keeper holds it besides the service, and gives workers descriptors of it; it is freed when it is
closed, or with the keeper.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from dataclasses import dataclass
from typing import Protocol


class NoSpace(Exception):
    """There is no room for shared memory, or for spilled journals."""


class ShelfLost(Exception):
    """The holder of memory besides the service has ended, or does not answer: the memory is lost."""


class Shelf(Protocol):
    """The holder of memory besides the service: the keeper. Its methods raise ShelfLost."""

    def keep(self, name: str, descriptor: int, token: str = "") -> None: ...
    def drop(self, names: list[str]) -> None: ...
    def take(self, names: list[str]) -> dict[str, int]: ...


@dataclass(eq=False)
class Memory:
    """A piece of shared memory, as a descriptor of this process."""

    fd: int
    size: int
    name: str = ""  # by which the shelf has it
    shelf: Shelf | None = None

    @property
    def path(self) -> str:
        """Returns the path at which this process can open it."""
        return f"/proc/self/fd/{self.fd}"

    def used(self) -> int:
        """Returns the bytes that really use memory (pieces are sparse)."""
        return os.fstat(self.fd).st_blocks * 512

    def keep(self, name: str, shelf: Shelf | None, token: str = "") -> Memory:
        """Makes the shelf hold it too, under this name; token: with it a training process receives the memory."""
        if shelf is not None:
            try:
                shelf.keep(name, self.fd, token)
            except (ShelfLost, OSError) as error:
                raise NoSpace(f"no shared memory for {name}: {error}") from error
            self.name, self.shelf = name, shelf
        return self

    def close(self) -> None:
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)
            if self.shelf is not None:
                with contextlib.suppress(ShelfLost):
                    self.shelf.drop([self.name])


def taken_over(name: str, fd: int, shelf: Shelf) -> Memory:
    """Returns what another service has left on the shelf. fd: a descriptor of it, which is the memory's from now on."""
    return Memory(fd, os.fstat(fd).st_size, name, shelf)


def shared(name: str, size: int) -> Memory:
    """Creates anonymous, zeroed, sparse memory. No worker can make it smaller: the service maps it, too."""
    try:
        fd = os.memfd_create(f"jitc-{name}", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    except OSError as error:
        raise NoSpace(f"no shared memory for {name}: {error.strerror}") from None
    memory = _sized(fd, name, size)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    return memory


def sealed(name: str, size: int, head: bytes) -> Memory:
    """Creates shared memory that starts with head, for an untrusted process: its size cannot be changed."""
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
    """Creates a sparse file without a name: it is freed with the service, however the service ends."""
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
