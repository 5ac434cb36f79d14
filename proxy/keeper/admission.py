"""The admission list of a service: whose programs may use it.

A list has words between commas: a user's name or number, @ and a group's name or number, or * for everybody.

Called by: the command line (`--users`), the entrance (../front), the keeper, which admits the same people. Promises: a
list that is accepted means the same until the service ends, since names are looked up once; root is always admitted;
never admitted is a user whom the kernel can name only by its overflow number, as it does with users of another user
namespace, and neither does that number count as a group.
"""

from __future__ import annotations

import functools
import grp
import pwd
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..common.printable import printable
from .peer import Peer

EVERYBODY, GROUP = "*", "@"
#: The largest number of a user or group; the one above it means "no user" to the kernel.
LARGEST = 2**32 - 2
_FORMS = "a user's name or number, @ and a group's name or number, or * for everybody"


class UnknownUser(ValueError):
    """A word of the list names nobody; the text names the word and says what to do."""


@dataclass(frozen=True)
class Admission:
    """The people whom a list admits: numbers of users, numbers of groups, or everybody. text is the list as given."""

    users: frozenset[int]
    groups: frozenset[int]
    everybody: bool
    text: str

    @classmethod
    def of(cls, text: str) -> Admission:
        """Looks the names of a list up. Raises UnknownUser."""
        words = parse(text)
        groups = frozenset(_group(one) for one in words if one.startswith(GROUP))
        users = frozenset(_user(one) for one in words if one != EVERYBODY and not one.startswith(GROUP))
        return cls(users, groups, EVERYBODY in words, ",".join(words))

    def admits(self, peer: Peer) -> bool:
        """Returns whether this peer may come in."""
        if peer.uid == 0:
            return True
        if peer.uid == overflow("uid") or peer.uid > LARGEST:
            return False
        groups = {peer.gid, *peer.groups} - {overflow("gid")}
        return self.everybody or peer.uid in self.users or not groups.isdisjoint(self.groups)

    def record(self) -> dict[str, Any]:
        """Returns what of_record makes the same admission of, in another process too: a JSON object."""
        return {
            "users": sorted(self.users), "groups": sorted(self.groups), "everybody": self.everybody, "text": self.text,
        }  # fmt: skip

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Admission:
        """Returns the admission that was recorded. Raises ValueError."""
        try:
            users, groups = (frozenset(map(int, record[name])) for name in ("users", "groups"))
            # Nothing but a true truth lets everybody in.
            return cls(users, groups, record["everybody"] is True, str(record["text"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"no record of an admission list: {error!r}") from None


def parse(text: str) -> list[str]:
    """Returns the words of a list. Raises UnknownUser for an empty word, and for one that stands there twice."""
    words = [one.strip() for one in text.split(",")]
    for at, word in enumerate(words):
        if word in ("", GROUP):
            raise UnknownUser(f"{_shown(text)} has an empty word: each must be {_FORMS}")
        if word in words[:at]:
            raise UnknownUser(f"{_shown(word)} is there twice: name it once")
    return words


@functools.cache
def overflow(kind: str) -> int:
    """Returns the number by which the kernel names users ("uid"), or groups ("gid"), that cannot be seen from here."""
    try:
        return int(Path(f"/proc/sys/kernel/overflow{kind}").read_text())
    except (OSError, ValueError):
        return 65534


def _user(word: str) -> int:
    unknown = f"there is no user {_shown(word)}: give {_FORMS} (id -u prints a number)"
    return _looked_up(word, word, "uid", lambda name: pwd.getpwnam(name).pw_uid, unknown)


def _group(word: str) -> int:
    name = word.removeprefix(GROUP)
    unknown = f"there is no group {_shown(name)}: give {_FORMS} (id -G prints numbers)"
    return _looked_up(word, name, "gid", lambda name: grp.getgrnam(name).gr_gid, unknown)


def _looked_up(word: str, name: str, kind: str, find: Callable[[str], int], unknown: str) -> int:
    """Returns the number, unless it is the one that would let nobody in. unknown: the text for a name without one."""
    number = _number(name, word)
    if number is None:
        try:
            number = find(name)
        except (KeyError, ValueError):
            raise UnknownUser(unknown) from None
    if number == overflow(kind):
        raise UnknownUser(
            f"{_shown(word)} is {number}, by which the kernel names everyone whom it cannot name: "
            "give a user or group with a number of its own"
        )
    return number


def _number(text: str, word: str) -> int | None:
    """Returns the number that the text is; None if it is a name. A number need not be that of a known user."""
    if not re.fullmatch("[0-9]+", text):
        return None
    if len(text) > len(str(LARGEST)) or int(text) > LARGEST:
        raise UnknownUser(f"{_shown(word)} is too large a number: give one from 0 to {LARGEST}")
    return int(text)


def _shown(text: str) -> str:
    return f"'{printable(text, 60)}'"
