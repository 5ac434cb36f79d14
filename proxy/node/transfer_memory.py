"""Memory of this node through which blocks go from one worker to another, and its number in requests.

Called by: the registry, for recoveries. Thread-safe. Promise: a number means one piece as long as the keeper lives,
also for the next service.
"""

from __future__ import annotations

import secrets

from ..common.shared_memory import Memory, Shelf, shared
from ..keeper import names


class TransferMemory:
    """One piece, until it is closed."""

    def __init__(self, number: int, memory: Memory) -> None:
        self.number, self.size = number, memory.size
        self.close = memory.close


class TransferMemories:
    """Makes the pieces."""

    def __init__(self, shelf: Shelf | None) -> None:
        self._shelf = shelf

    def make(self, name: str, size: int) -> TransferMemory:
        """Allocates zeroed memory. Raises NoSpace."""
        number = secrets.randbits(63) | 1
        memory = shared(name, size)
        try:
            return TransferMemory(number, memory.keep(names.of_transfer(number), self._shelf))
        except BaseException:
            memory.close()
            raise
