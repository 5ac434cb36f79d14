"""The user to whom a part of the keeper belongs: memory, workers, and training processes.

Used by: the service, which has a tenant for each user (../tenants), client.py, the keeper. Promise: the names of what
belongs to a user begin with text that no other user's names begin with; what belongs to the keeper's own user has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Owner:
    """A user other than the keeper's, with the groups that its processes have."""

    uid: int
    gid: int
    groups: tuple[int, ...] = ()

    @property
    def prefix(self) -> str:
        """Returns the beginning of its names, and the name of its folder."""
        return f"u{self.uid}/"

    def record(self) -> dict[str, Any]:
        return {"uid": self.uid, "gid": self.gid, "groups": list(self.groups)}

    @classmethod
    def of_record(cls, record: dict[str, Any]) -> Owner:
        return cls(int(record["uid"]), int(record["gid"]), tuple(int(one) for one in record["groups"]))


def prefix_of(owner: Owner | None) -> str:
    """Returns the beginning of the names of an owner; None: the keeper's own user."""
    return owner.prefix if owner is not None else ""


def prefix_in(name: str) -> str:
    """Returns the beginning of a name, as prefix_of gives it."""
    first, slash, _ = name.partition("/")
    return first + slash if slash and first[:1] == "u" and first[1:].isdecimal() else ""
