"""Keys in the store, and the form of what stands under them: JSON objects.

Used by: everything here that reads or writes the store. Promise: what another version, or somebody else, has written
there is found to be wrong before anything is done with it.
"""

from __future__ import annotations

import json
from typing import Any

from .store.engine import Entry, State

#: Digits of the largest number that may stand in the store, at the most.
_DIGITS = 20
#: Nodes whose services run now, under their leases; numbers of all nodes that there have ever been; those that each had
#: before, whose sessions have ended; the newest number.
NODES, NUMBERS, FORMER, LAST_NUMBER = "nodes/", "numbers/", "former/", "last-number"
#: The name of the store, by which a service knows it again.
STORE = "store"
#: Communicators with ranks on several nodes, or whose ranks have not all come; jobs over nodes; and who leads each.
COMMUNICATORS, JOBS, LEADERS = "communicators/", "jobs/", "leaders/"


class Malformed(Exception):
    """An entry is not of this form; the text names the key."""


def encoded(value: dict[str, Any]) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def decoded(key: str, entry: Entry) -> dict[str, Any]:
    """Returns the entry's object. Raises Malformed."""
    try:
        found = json.loads(entry.value)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Malformed(f"{key} in the store is not what jitc writes there; remove it, or use another store")
    return found


def number_in(key: str, entry: Entry | None, most: int) -> int:
    """Returns the number of an entry, 0 if there is none. Raises Malformed."""
    if entry is None:
        return 0
    text = entry.value.decode(errors="replace")
    if not text.isascii() or not text.isdigit() or len(text) > _DIGITS or int(text) > most:
        raise Malformed(f"{key} in the store is no number up to {most}; remove it, or use another store")
    return int(text)


def below(state: State, prefix: str) -> dict[str, Entry]:
    """Returns the entries by the rest of their keys."""
    return {key.removeprefix(prefix): entry for key, entry in state.entries.items()}
