"""The memory and the claim of a service, for the program that goes on in its process.

Called by: keeper_lost.py, hand_over.py (they leave it), serve.py (for a reload, too), ../proxyd.py. Promises:
descriptors stay open, under their numbers, through the exec of another program, and only through that; a program of
another version of jitc reads what it knows of it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import sys
import time
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...service import Service

#: Time for the workers of a keeper that has ended to end.
ENDING_SECONDS = 10.0


@dataclass
class Kept:
    """The remains of the keepers before, for this program."""

    memory: dict[str, int] = field(default_factory=dict)  # descriptors of this process, by name
    ending: list[int] = field(default_factory=list)  # readable when workers have ended
    ends: list[float] = field(default_factory=list)  # of keepers, by the monotonic clock
    keeper: int = 0  # the process of the last one, if it is this process's child
    claim: list[int] = field(default_factory=list)  # descriptors of the folders of the socket, which this process has

    @classmethod
    def of(cls, service: Service) -> Kept:
        """Returns the memory of this service, as descriptors beside its own."""
        return cls(service.backup.descriptors())

    @classmethod
    def read(cls, descriptor: int) -> Kept:
        """Returns what the program before this one in the process has left: a file that it has written."""
        with open(descriptor, "rb") as file:
            file.seek(0)
            left = json.load(file)
        names = {one.name for one in fields(cls)}  # jitc may have been upgraded since the service began
        kept = cls(**{name: value for name, value in left.items() if name in names})
        for one in kept.descriptors():
            os.set_inheritable(one, False)
        return kept

    def descriptors(self) -> list[int]:
        return [*self.memory.values(), *self.ending, *self.claim]

    @property
    def held(self) -> tuple[int, int] | None:
        """Returns the claim on the socket; None: it has to be made."""
        return (self.claim[0], self.claim[1]) if self.claim else None

    def words(self) -> list[str]:
        """Writes it for the next program in this process. Returns the words by which that reads it."""
        for one in self.descriptors():
            os.set_inheritable(one, True)
        descriptor = os.memfd_create("jitc-kept", 0)
        os.write(descriptor, json.dumps(asdict(self)).encode())
        return ["--kept", str(descriptor)]

    def wait(self) -> None:
        """Waits until the keeper before and its workers have ended, but not for ever."""
        deadline, waiting = time.monotonic() + ENDING_SECONDS, select.poll()
        if self.keeper:
            with contextlib.suppress(OSError):
                self.ending.append(os.pidfd_open(self.keeper))
        left = set(self.ending)
        for one in left:
            waiting.register(one, select.POLLIN)
        while left and (patience := deadline - time.monotonic()) > 0:
            for one, _ in waiting.poll(patience * 1000):
                waiting.unregister(one)
                left.discard(one)
        if self.keeper:
            with contextlib.suppress(OSError):
                os.waitpid(self.keeper, os.WNOHANG)
            self.keeper = 0
        if left:
            still = f"{len(left)} processes of the keeper before have not ended {ENDING_SECONDS:.0f} s after it"
            print(f"jitc-proxyd: {still}; the driver may hold them", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Closes everything: the service has descriptors of its own by now."""
        for one in self.descriptors():
            with contextlib.suppress(OSError):
                os.close(one)
        self.memory, self.ending, self.claim = {}, [], []
