"""A service that gives its place to another one, or to itself anew, without ending its process.

Called by: serve.py. Another program takes the process's place (exec): so all threads of the service end at once,
whatever they wait for, as if it had been killed, which programs and workers survive; the process's number, its parent
and its output stay. Promises: a service that has stood by and goes on begins as one that takes over; a service without
programs leaves a keeper in another container, so that this container can end.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, NoReturn, Protocol

from .activation import pass_on
from .kept import Kept
from .respawn import COMMAND, ENDING

if TYPE_CHECKING:
    from ...common.config import Config
    from ...keeper.backup import Backup
    from ...keeper.client import Keeper
    from ...service import Service

#: Time in which a service that has ended this one's keeper is to serve, and in which it is to begin with that.
SERVING_SECONDS, BEGINNING_SECONDS = 90.0, 5.0
LOOK_SECONDS = 0.1
_never = threading.Event()


class Signals(Protocol):
    """Whether a signal has asked this process to end."""

    asked: bool


def give_place(service: Service, words: list[str], signals: Signals) -> NoReturn:
    """Stands by for the service that is to replace this one (stood_by, in the program that this process runs then)."""
    print("jitc-proxyd: another one takes over", file=sys.stderr, flush=True)
    connection = service.keeper.handed_on()
    os.set_inheritable(connection, True)
    become([*words, "--stand-by", str(connection), *Kept.of(service).words()], signals)


def stood_by(connection: int, config: Config, backup: Backup, kept: Kept) -> tuple[Keeper | None, bool]:
    """Waits for the service that is to replace this one. Returns the keeper, unless it has ended, and whether that one
    serves; otherwise this one goes on, with what it has kept."""
    from ...keeper.launch import stand_by
    from ...keeper.line import KeeperLost

    try:
        keeper = stand_by(connection, backup)
        serves = keeper is None
    except KeeperLost:  # it was killed, or the other one had nothing to take over, and begins anew
        keeper, serves = None, _another_serves(config, kept)
    if not serves:
        print("jitc-proxyd: the other one could not take over; this one goes on", file=sys.stderr, flush=True)
    return keeper, serves


def move(service: Service, words: list[str], signals: Signals) -> NoReturn:
    """Ends the keeper in another container, which no program needs, and begins with one in this container."""
    print("jitc-proxyd: no program is left; begins anew in this container", file=sys.stderr, flush=True)
    logs = service.logs()
    for log in logs.values():
        os.set_inheritable(log, True)
    service.stop(leaves_folder=True)
    become([*words, "--left", json.dumps(logs)], signals)


def _another_serves(config: Config, kept: Kept) -> bool:
    """Returns whether another one serves after all. Otherwise this process has the claim on the socket, unless it
    cannot be had: then that is reported when the service is made."""
    from ...keeper.claim.listening import alive
    from ...keeper.claim.socket_lock import SocketInUse, SocketLock

    deadline, begun = time.monotonic() + SERVING_SECONDS, time.monotonic() + BEGINNING_SECONDS
    with contextlib.suppress(SocketInUse):
        lock = SocketLock(config.socket, config.private_directory())
        lock.share()
        while time.monotonic() < deadline:
            if alive(config.socket):
                return True
            if time.monotonic() > begun and (claim := lock.hold()) is not None:
                kept.claim = list(claim)
                break
            _never.wait(LOOK_SECONDS)
    return False


def become(words: list[str], signals: Signals) -> NoReturn:
    """Has the program with these words take this process's place."""
    sys.stdout.flush()
    # They wait for the next program's handlers; the first process of a container would never see them otherwise.
    signal.pthread_sigmask(signal.SIG_BLOCK, (*ENDING, signal.SIGHUP, signal.SIGUSR1))
    if signals.asked:  # this program's handler has had it
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
    pass_on()
    os.execv(COMMAND[0], [*COMMAND, *words])
