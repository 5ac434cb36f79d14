"""Names under which the keeper holds shared memory.

Used by: the service, which has it kept, and workers, which receive it by name (worker_end.py). Promise: each name
follows from a number that both know, so that no request carries one.
"""

from __future__ import annotations

BOARD, LOG = "board", "log"
#: The pieces of a session.
PIECES = JOURNAL, SNAPSHOT, SPILL, PINNED = "journal", "snapshot", "spill", "pinned"


def of_session(number: int, piece: str) -> str:
    return f"{number}/{piece}"


def of_communicator(identity: int) -> str:
    """Returns the name of a communicator's segment."""
    return f"communicator/{identity}"


def of_transfer(number: int) -> str:
    return f"transfer/{number}"


def sessions(names: list[str]) -> int:
    """Returns how many sessions these pieces belong to."""
    return sum(name.endswith(f"/{JOURNAL}") for name in names)
