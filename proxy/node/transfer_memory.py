"""Memory of this node through which blocks go from one worker to another, and its number in requests.

Called by: the registry, for recoveries. Thread-safe. Promise: a number means one piece as long as the keeper lives,
also for the next service.
"""

from __future__ import annotations

import os
import secrets

from ..common.shared_memory import Memory, Shelf, shared
from ..keeper import names
from ..ranks.rank import Rank


class TransferMemory:
    """One piece, until it is closed. All ranks of this node have it at once."""

    def __init__(self, number: int, memory: Memory) -> None:
        self.number, self.size, self._memory = number, memory.size, memory
        self.close = memory.close

    def prepare(self) -> tuple[()]:
        """There is nothing to wait for."""
        return ()

    def carry(self, source: Rank, target: Rank, size: int) -> None:
        """There is nothing to do."""

    def read(self, offset: int, size: int) -> bytes:
        """Raises OSError once it is closed."""
        return os.pread(self._memory.fd, size, offset)

    def write(self, offset: int, data: bytes) -> None:
        """Raises OSError once it is closed, and where there is no room."""
        if os.pwrite(self._memory.fd, data, offset) != len(data):
            raise OSError("no room for transfer memory")


def new_number() -> int:
    return secrets.randbits(63) | 1


class TransferMemories:
    """Makes the pieces."""

    def __init__(self, shelf: Shelf | None) -> None:
        self._shelf = shelf

    def make(self, name: str, size: int, number: int = 0) -> TransferMemory:
        """Allocates zeroed memory. number: by which another node knows it already; 0: it gets one. Raises NoSpace."""
        number = number or new_number()
        memory = shared(name, size)
        try:
            return TransferMemory(number, memory.keep(names.of_transfer(number), self._shelf))
        except BaseException:
            memory.close()
            raise
