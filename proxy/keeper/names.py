"""Names under which the keeper holds shared memory.

Used by: the service, which has it kept, and workers, which receive it by name (worker_end.py). Promise: each name
follows from a number that both know, so that no request carries one.
"""

from __future__ import annotations

BOARD, LOG = "board", "log"
#: Another user's log: the service's, so that none of that user's workers can be given it.
_LOGS = f"{LOG}/"
#: The pieces of a session.
PIECES = JOURNAL, SNAPSHOT, SPILL, PINNED = "journal", "snapshot", "spill", "pinned"


def of_session(number: int, piece: str) -> str:
    return f"{number}/{piece}"


def of_log(uid: int) -> str:
    """Returns the name of the log of another user's sessions."""
    return f"{_LOGS}{uid}"


def is_log(name: str) -> bool:
    return name == LOG or name.startswith(_LOGS)


def logged_users(names: list[str]) -> list[int]:
    """Returns the other users whose logs are among these names."""
    return sorted(int(one.removeprefix(_LOGS)) for one in names if one.startswith(_LOGS))


def of_communicator(identity: int) -> str:
    """Returns the name of a communicator's segment."""
    return f"communicator/{identity}"


def of_transfer(number: int) -> str:
    return f"transfer/{number}"


def sessions(names: list[str]) -> int:
    """Returns how many sessions these pieces belong to."""
    return sum(name.endswith(f"/{JOURNAL}") for name in names)
