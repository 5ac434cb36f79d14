"""Memory of this node through which blocks go from one worker to another, and its number in requests.

Called by: the registry, for recoveries (make); local_paths.py (path). Thread-safe.
"""

from __future__ import annotations

import itertools
import threading

from ..common.shared_memory import Memory, shared


class TransferMemory:
    """One piece, until it is closed."""

    def __init__(self, number: int, memory: Memory, made_by: TransferMemories) -> None:
        self.number, self.size, self.path = number, memory.size, memory.path
        self._memory, self._made_by = memory, made_by

    def close(self) -> None:
        self._made_by.forget(self.number)
        self._memory.close()


class TransferMemories:
    """All pieces that are in use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._pieces: dict[int, TransferMemory] = {}

    def make(self, name: str, size: int) -> TransferMemory:
        """Allocates zeroed memory. Raises NoSpace."""
        memory = shared(name, size)
        with self._lock:
            piece = TransferMemory(next(self._numbers), memory, self)
            self._pieces[piece.number] = piece
        return piece

    def forget(self, number: int) -> None:
        with self._lock:
            self._pieces.pop(number, None)

    def path(self, number: int) -> str:
        """Returns the path; empty: no piece in use has the number."""
        with self._lock:
            piece = self._pieces.get(number)
        return piece.path if piece is not None else ""
