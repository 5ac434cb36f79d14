"""Slots of the board that show sessions of other nodes: what the service writes there, the bridge apart.

Called by: whoever joins the boards of several nodes, in the service. Promises: a slot that is entered counts at once
for the ranks here that share a communicator with the session; its values are 0 until others have come. While the bridge
may write to a slot (Bridge.show), only communicators are added to it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..common.executor import ExecutorError, load

#: Bytes of the unique id of a communicator.
UNIQUE_ID = 128
#: Counters that a recovery sets, in the order of the library.
COUNTERS = ("prepared", "reached", "begun", "unskippable")


class MirrorSlots:
    """Mirror slots of one board. Any thread. Raises ExecutorError."""

    def __init__(self, library: Path, board: str) -> None:
        """board: its path."""
        self._lib, self._board = load(library), board.encode()

    def enter(self, slot: int, session: int, epoch: int, unique_ids: Sequence[bytes]) -> None:
        """Gives the slot to a session, in the communicators with these ids. If the slot is its own already,
        communicators are added, and all else stays."""
        ids = b"".join(unique_ids)
        self._check(self._lib.jitc_board_enter(self._board, slot, session, epoch, ids, len(ids) // UNIQUE_ID))

    def begin(self, slot: int, epoch: int, counters: Mapping[str, int]) -> None:
        """Begins an epoch: sets the counters exactly, those that are left out to 0, and forgets the history."""
        values = (ctypes.c_uint64 * len(COUNTERS))(*(counters.get(name, 0) for name in COUNTERS))
        self._check(self._lib.jitc_board_begin(self._board, slot, epoch, values))

    def leave(self, slot: int) -> None:
        """Frees the slot."""
        self._check(self._lib.jitc_board_leave(self._board, slot))

    def _check(self, code: int) -> None:
        if code < 0:
            raise ExecutorError((self._lib.jitc_executor_message() or b"").decode(errors="replace"))
