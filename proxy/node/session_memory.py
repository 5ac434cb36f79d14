"""The shared memory of one session: journal, snapshots, spilled journals, pinned memory.

Called by: the registry, and a service that takes over. Promises: a session has all of its pieces or none; the shelf
holds them too.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass

from ..common.boundaries import SessionFiles
from ..common.config import Config
from ..common.shared_memory import Memory, Shelf, sealed, shared, spill_file, taken_over
from ..keeper import names


@dataclass(eq=False)
class SessionMemory:
    """The pieces of one session."""

    journal: Memory
    snapshot: Memory
    spill: Memory
    pinned: Memory | None  # shared with the client too

    @classmethod
    def create(cls, config: Config, token: str, number: int = 0, shelf: Shelf | None = None) -> SessionMemory:
        """Creates the pieces. number: the session's."""
        with contextlib.ExitStack() as made:

            def keep(part: str, memory: Memory, token: str = "") -> Memory:
                made.callback(memory.close)
                return memory.keep(names.of_session(number, part), shelf, token)

            def pinned() -> Memory:
                return keep(names.PINNED, sealed("pinned", config.pinned_bytes, token.encode()), token)

            one = cls(
                keep(names.JOURNAL, shared("journal", config.journal_bytes)),
                keep(names.SNAPSHOT, shared("snapshot", config.snapshot_bytes)),
                keep(names.SPILL, spill_file(config.spill_dir, config.spill_bytes)),
                pinned() if config.pinned_bytes else None,
            )
            made.pop_all()  # nothing is closed
            return one

    @classmethod
    def take_over(cls, number: int, shelf: Shelf) -> SessionMemory:
        """Takes over the session's pieces. Raises KeyError when one is missing, or OSError."""
        own = {names.of_session(number, part): part for part in names.PIECES}
        taken = {own[name]: taken_over(name, fd, shelf) for name, fd in shelf.take(list(own)).items()}
        try:
            return cls(taken[names.JOURNAL], taken[names.SNAPSHOT], taken[names.SPILL], taken.get(names.PINNED))
        except KeyError:
            for memory in taken.values():
                os.close(memory.fd)
            raise

    def files(self) -> SessionFiles:
        """Returns where the session's boundaries can be read without a worker, while this memory is held."""
        spill = self.spill
        return SessionFiles(
            self.journal.path, self.journal.size, self.snapshot.path, self.snapshot.size, spill.path, spill.size
        )

    def close(self) -> None:
        for memory in (self.journal, self.snapshot, self.spill, self.pinned):
            if memory is not None:
                memory.close()
