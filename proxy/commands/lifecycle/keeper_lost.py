"""A service whose keeper has ended: it begins anew in the same process, with the memory that the keeper held.

Called by: serve.py. The workers end with the keeper; what programs have lies in memory that the service has open too
(../../keeper/backup.py), or systemd, when both have ended (systemd.py). Another program takes the process's place
(hand_over.py), so no thread of this one acts on what it takes for many faults at once. Promises: the next keeper gets
what the last one held; nobody else has the socket meanwhile; keepers that end again and again are an error, and no
loop.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, NoReturn

from ..options import FAILED
from .hand_over import Signals, become
from .kept import Kept

if TYPE_CHECKING:
    from ...service import Service

#: So many ends of keepers within so many seconds are no accidents.
ENDS, WITHIN_SECONDS = 5, 60.0


def ends_without_keeper(service: Service, kept: Kept, words: list[str], signals: Signals) -> NoReturn:
    """Ends a service whose connection to the keeper has ended, and begins anew with what is left. Nothing of what it
    has may touch what is now another service's, if there is one."""
    claim = service.hold()
    if claim is None:
        print("jitc-proxyd: another one has taken over meanwhile", file=sys.stderr, flush=True)
        if os.getpid() == 1:  # the keeper ends with it
            become([*words, "--stay"], signals)
        os._exit(FAILED)
    kept.memory |= Kept.of(service).memory  # the newer ones, if this service has hardly begun
    kept.ending += service.ends_of_workers()
    kept.claim = list(claim)
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
    become([*words, *kept.words()], signals)
