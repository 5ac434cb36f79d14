"""The memory that the keeper holds, by name, with the tokens by which training processes receive theirs.

Called by: server.py (the service's requests), children.py (workers), programs.py. Promises: a worker or a program gets
memory of its own user alone; a name that nobody keeps is left out of an answer.
"""

from __future__ import annotations

import hmac
import os
from typing import Any

from .. import protocol
from ..owner import prefix_in

#: Pieces of memory that are held: what a new service is told of them must fit into a packet.
KEPT = 6144
#: Of these, what one user may have besides the service's own, and what is left to that one by all others.
FOR_ONE, LEFT = KEPT // 4, 1024

Reply = dict[str, Any]


class Shelf:
    """All pieces, each a descriptor of the keeper's."""

    def __init__(self) -> None:
        self._kept: dict[str, int] = {}
        self._tokens: dict[str, str] = {}  # of what a training process may have

    def names(self) -> list[str]:
        return list(self._kept)

    def keep(self, name: str, descriptor: int, token: str) -> Reply:
        """Keeps a descriptor, which is the shelf's from then on; another one of that name is closed."""
        if name not in self._kept and (why := self._full(prefix_in(name))):
            os.close(descriptor)
            return {"error": f"{why} already; end some programs first"}
        before = self._kept.pop(name, -1)
        if before >= 0:
            os.close(before)
        self._kept[name], self._tokens[name] = descriptor, token
        return {"descriptor": descriptor}

    def _full(self, prefix: str) -> str:
        """Returns why there is no place for another piece of this user's; empty: there is one."""
        if len(self._kept) >= KEPT:
            return f"jitc-keeper holds {KEPT} pieces of memory"
        if not prefix:
            return ""
        users = [prefix_in(one) for one in self._kept]
        if users.count(prefix) >= FOR_ONE:
            return f"jitc-keeper holds {FOR_ONE} pieces of memory of this user"
        return (
            f"jitc-keeper holds {KEPT - LEFT} pieces of memory of all users"
            if len(users) - users.count("") >= KEPT - LEFT
            else ""
        )

    def drop(self, wanted: list[str]) -> Reply:
        for name in wanted:
            if name in self._kept:
                os.close(self._kept.pop(name))
                del self._tokens[name]
        return {}

    def of_token(self, token: bytes, prefix: str) -> int:
        """Returns the descriptor that a training process with this token may have; -1: none. prefix: its user's."""
        fits = (name for name, one in self._tokens.items() if one and same(one, token) and prefix_in(name) == prefix)
        return self._kept[name] if (name := next(fits, "")) else -1

    def taken(self, wanted: list[Any], prefix: str = "") -> tuple[Reply, list[int]]:
        """Returns the answer to a request for memory, with its descriptors: what is there of the first names. prefix:
        of the user who asks, as names of the shelf begin."""
        own = {one: prefix + one for one in map(str, wanted[: protocol.DESCRIPTORS])}
        there = [one for one, name in own.items() if name in self._kept and prefix_in(name) == prefix]
        return {"taken": there}, [self._kept[own[one]] for one in there]


def same(token: str, said: bytes) -> bool:
    """Compares two values in constant time."""
    return hmac.compare_digest(token.encode(), said)
