"""A second hold on all that the keeper holds, so that its death is survived: a new keeper is given the same memory.

Used by: client.py (all that is kept, taken or dropped), ../service.py and ../commands/keeper_lost.py (the next keeper).
It has no descriptors of its own: those of the service are as good, and scarce. Promises: a descriptor that has been
closed since, and whose number means another file by now, is not handed on; the outside holder, if there is one, hears
of every change in the order of the changes. Thread-safe.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol


class Outside(Protocol):
    """Another process that holds descriptors for the service, also when both service and keeper have ended: systemd."""

    def put(self, name: str, descriptor: int) -> None: ...
    def remove(self, name: str) -> None: ...


@dataclass(frozen=True)
class _Known:
    descriptor: int
    file: tuple[int, int]  # device and inode: what the number has to mean


class Backup:
    """The keeper's files, by name, as descriptors of this process."""

    def __init__(self, outside: Outside | None = None) -> None:
        self._outside = outside
        self._lock = threading.Lock()
        self._known: dict[str, _Known] = {}

    def note(self, name: str, descriptor: int) -> None:
        """Notes that the keeper has this file under this name; the descriptor stays the caller's."""
        one = _Known(descriptor, _file(descriptor))
        with self._lock:
            before = self._known.get(name)
            self._known[name] = one
            if self._outside is None:
                return
            if before is not None and before.file != one.file:
                self._outside.remove(name)
            self._outside.put(name, descriptor)

    def forget(self, names: Iterable[str]) -> None:
        with self._lock:
            for name in names:
                self._known.pop(name, None)
                if self._outside is not None:
                    self._outside.remove(name)

    def clear(self) -> None:
        """Forgets everything: the service ends, and leaves nothing."""
        self.forget(list(self._known))

    def descriptors(self) -> dict[str, int]:
        """Returns descriptors of those that are still open, by name, which are the caller's: the owners of the known
        ones may close them at any time."""
        with self._lock:
            known = dict(self._known)
        found = {name: _duplicate(one) for name, one in known.items()}
        return {name: one for name, one in found.items() if one >= 0}


def _file(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


def _duplicate(one: _Known) -> int:
    """Returns another descriptor of the file; the same one if none is left; -1: the number means another file now."""
    try:
        own = os.dup(one.descriptor)
    except OSError as error:
        return one.descriptor if error.errno == errno.EMFILE and _means(one) else -1
    if _file(own) == one.file:
        return own
    os.close(own)
    return -1


def _means(one: _Known) -> bool:
    try:
        return _file(one.descriptor) == one.file
    except OSError:
        return False
