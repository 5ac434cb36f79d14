"""The shared memory of one session: journal, snapshots, spilled journals, pinned memory.

Called by: the registry, and a service that takes over. Promises: a session has all of its pieces or none; the shelf
holds them too.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from ..common.boundaries import SessionFiles
from ..common.config import Config
from ..common.shared_memory import Memory, Shelf, sealed, shared, spill_file, taken_over


@dataclass(eq=False)
class SessionMemory:
    """The pieces of one session."""

    journal: Memory
    snapshot: Memory
    spill: Memory
    pinned: Memory | None  # shared with the client too

    @classmethod
    def create(cls, config: Config, token: str, name: str = "", shelf: Shelf | None = None) -> SessionMemory:
        """Creates the pieces. name: the session's, on the shelf."""
        with contextlib.ExitStack() as made:

            def keep(part: str, memory: Memory, token: str = "") -> Memory:
                made.callback(memory.close)
                return memory.keep(f"{name}/{part}", shelf, token)

            def pinned() -> Memory:
                return keep("pinned", sealed("pinned", config.pinned_bytes, token.encode()), token)

            one = cls(
                keep("journal", shared("journal", config.journal_bytes)),
                keep("snapshot", shared("snapshot", config.snapshot_bytes)),
                keep("spill", spill_file(config.spill_dir, config.spill_bytes)),
                pinned() if config.pinned_bytes else None,
            )
            made.pop_all()  # nothing is closed
            return one

    @classmethod
    def take_over(cls, name: str, paths: dict[str, str], shelf: Shelf) -> SessionMemory:
        """Takes over the session's pieces. paths: of all memory on the shelf, by name. Raises KeyError or OSError."""

        def part(part: str) -> Memory:
            return taken_over(f"{name}/{part}", paths[f"{name}/{part}"], shelf)

        pinned = part("pinned") if f"{name}/pinned" in paths else None
        return cls(part("journal"), part("snapshot"), part("spill"), pinned)

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
