"""The data path as the streams use it: library.py has it, over the native library.

Used by: outgoing.py, incoming.py, control.py. Promise of an implementation: any thread may call anything; only collect
waits.
"""

from __future__ import annotations

from typing import Any, Protocol


class Malformed(Exception):
    """Bytes of another node are no frames, or concern what is not that node's; the text says what."""


class Mirror(Protocol):
    """The segments and the board of this node, as they are shown to others."""

    def collect(self, peer: int, milliseconds: int) -> bytes:
        """Returns frames for the node with this number; waits for some, up to the time. Empty: there are none."""

    def apply(self, peer: int, frames: bytes) -> None:
        """Writes what the node has sent. Raises Malformed."""

    def cut(self, peer: int, why: str) -> None:
        """Marks all segments with ranks of the node as cut; `why` reaches the programs."""

    def link(self, description: dict[str, Any]) -> None: ...
    def unlink(self, link: int) -> None: ...
    def show(self, slots: dict[str, Any]) -> None: ...
    def counters(self) -> dict[str, Any]: ...
