"""A service whose keeper has ended: it begins anew in the same process, with the memory that the keeper held.

Called by: serve.py. The workers end with the keeper; what programs have lies in memory that the service has open too
(../../keeper/backup.py), or systemd, when both have ended (systemd.py). Another program takes the process's place
(hand_over.py), so no thread of this one acts on what it takes for many faults at once. Promises: the next keeper gets
what the last one held; workers that are still ending are waited for, because they write to that memory; keepers that
end again and again are an error, and no loop.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, NoReturn

from ..options import FAILED
from .hand_over import Signals, become

if TYPE_CHECKING:
    from ...service import Service

#: So many ends of keepers within so many seconds are no accidents.
ENDS, WITHIN_SECONDS = 5, 60.0
#: Time for the workers of a keeper that has ended to end.
ENDING_SECONDS = 10.0


@dataclass
class Kept:
    """The remains of the keepers before, for this program."""

    memory: dict[str, int] = field(default_factory=dict)  # descriptors of this process, by name
    ending: list[int] = field(default_factory=list)  # readable when workers have ended
    ends: list[float] = field(default_factory=list)  # of keepers, by the monotonic clock
    keeper: int = 0  # the process of the last one, if it is this process's child

    @classmethod
    def read(cls, descriptor: int) -> Kept:
        """Returns what the program before this one in the process has left: a file that it has written."""
        with open(descriptor, "rb") as file:
            file.seek(0)
            kept = cls(**json.load(file))
        for one in (*kept.memory.values(), *kept.ending):
            os.set_inheritable(one, False)
        return kept

    def written(self) -> int:
        """Writes it for the next program in this process. Returns the file's descriptor."""
        for one in (*self.memory.values(), *self.ending):
            os.set_inheritable(one, True)
        descriptor = os.memfd_create("jitc-kept", 0)
        os.write(descriptor, json.dumps(asdict(self)).encode())
        return descriptor

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
        for one in (*self.memory.values(), *self.ending):
            with contextlib.suppress(OSError):
                os.close(one)
        self.memory, self.ending = {}, []


def ends_without_keeper(service: Service, kept: Kept, words: list[str], signals: Signals) -> NoReturn:
    """Ends a service whose connection to the keeper has ended, and begins anew with what is left. Nothing of what it
    has may touch what is now another service's, if there is one."""
    from ...keeper.launch import sessions_kept

    if service.keeper.dismissed or sessions_kept(service.config.private_directory()) is not None:
        print("jitc-proxyd: another one has taken over meanwhile", file=sys.stderr, flush=True)
        if os.getpid() == 1:  # the keeper ends with it
            become([*words, "--stay"], signals)
        os._exit(FAILED)
    kept.memory |= service.backup.descriptors()  # the newer ones, if this service has hardly begun
    kept.ending += service.ends_of_workers()
    kept.keeper = service.keeper.process.pid if service.keeper.process is not None else 0
    begin_anew(kept, words, signals)


def begin_anew(kept: Kept, words: list[str], signals: Signals) -> NoReturn:
    """Has another program begin with what a keeper has left, unless that has happened too often."""
    now = time.monotonic()
    kept.ends = [*(one for one in kept.ends if now - one < WITHIN_SECONDS), now]
    if len(kept.ends) >= ENDS:
        print("jitc-proxyd: jitc-keeper has ended again and again; not started any more", file=sys.stderr, flush=True)
        os._exit(FAILED)
    print(
        "jitc-proxyd: jitc-keeper has ended, and all workers with it; begins anew with the memory that it held",
        file=sys.stderr,
        flush=True,
    )
    become([*words, "--kept", str(kept.written())], signals)
