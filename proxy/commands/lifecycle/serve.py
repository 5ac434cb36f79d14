"""The running of a service: from what there was before it to its end, or to the program that goes on in its process.

Called by: ../proxyd.py. Promises: one line on standard output when it is ready, and readiness to systemd; a reason why
it cannot become ready is one line on standard error.
"""

from __future__ import annotations

import contextlib
import os
import resource
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...backends import KINDS
from ...common import paths
from ..options import FAILED, USAGE, CommandError, complain
from .activation import given_socket
from .reload import Reader, changed
from .respawn import sessions_are
from .signals import Signals
from .systemd import Watchdog, notify

if TYPE_CHECKING:
    from ...common.config import Config
    from ...keeper.backup import Backup
    from ...keeper.client import Keeper
    from ...service import Service
    from .kept import Kept

#: How long a signal may go unnoticed.
SIGNAL_SECONDS = 0.2
GOES_ON = "jitc-keeper has ended before this one had taken over; the one before goes on, if there is one"


@dataclass
class Before:
    """The state of this process before the service."""

    backup: Backup  # of what its keeper will hold
    kept: Kept  # what keepers have held that have ended
    keeper: Keeper | None = None  # if it has stood by in this process
    left: dict[str, int] = field(default_factory=dict)  # logs of the one before in this process, by user
    replace: bool = False  # another one may serve


def serve(config: Config, words: list[str], read: Reader, before: Before) -> int:
    """Runs the service to its end. words: its options, for another one in its place; read: reads them again. Returns
    the exit status."""
    signals, watchdog = Signals(), Watchdog()
    _open_files_at_will()
    if KINDS[config.device].fixed_layout:
        _fix_layout()
    before.kept.wait()
    service = _made(config, words, before, signals)
    if isinstance(service, int):
        return service
    try:
        return _Serving(service, words, read, before, signals).run(watchdog)
    finally:
        watchdog.stop()


def _made(config: Config, words: list[str], before: Before, signals: Signals) -> Service | int:
    """Returns the service, or the exit status of one that cannot be made."""
    from ...backends.base import NoDevice  # after the arguments: --help and mistakes answer at once
    from ...cluster.nodes import CannotJoin
    from ...common.shared_memory import NoSpace
    from ...keeper.admission import UnknownUser
    from ...keeper.claim.socket_lock import SocketInUse, WrongSocket
    from ...keeper.line import KeeperLost
    from ...keeper.log import Log
    from ...service import Service
    from .keeper_lost import begin_anew

    try:
        paths.transport_library()  # here once, and not in each worker
        known = {int(user): Log(one, lambda descriptor: None) for user, one in before.left.items()}
        return Service(
            config, replace=before.replace, keeper=before.keeper, left=known, listener=given_socket(config.socket),
            backup=before.backup, kept=before.kept.memory, held=before.kept.held,
        )  # fmt: skip
    except (KeeperLost, NoSpace) as error:
        if isinstance(error, NoSpace) and not isinstance(error.__cause__, KeeperLost):
            return complain("jitc-proxyd", str(error))
        if before.replace and not before.kept.memory:
            return complain("jitc-proxyd", GOES_ON)
        begin_anew(before.kept, words, signals)
    except CommandError as error:
        return complain("jitc-proxyd", str(error), error.code)
    except (CannotJoin, NoDevice, SocketInUse, UnknownUser, paths.MissingLibrary, OSError) as error:
        return complain("jitc-proxyd", str(error), USAGE if isinstance(error, WrongSocket) else FAILED)


class _Serving:
    """A service that serves, until something ends it."""

    def __init__(self, service: Service, words: list[str], read: Reader, before: Before, signals: Signals) -> None:
        self._service, self._words, self._read, self._kept = service, words, read, before.kept
        self._replaces = before.replace
        self._signals, self._begun = signals, False
        service.keeper.when_lost(signals.keeper_lost)
        service.keeper.when_handing_over(signals.hand_over)

    def run(self, watchdog: Watchdog) -> int:
        from ...cluster.nodes import CannotJoin
        from ...common.shared_memory import NoSpace
        from ...keeper.line import KeeperLost
        from ...ranks.rank import NoWorker

        service = self._service
        try:
            service.start()
            self._ready()
            watchdog.watch(service)
            self._serve()
            self._end()
        except (CannotJoin, KeeperLost, NoSpace, NoWorker, OSError, RuntimeError) as error:  # gRPC raises the last one
            self._go_on_without_keeper()
            return complain("jitc-proxyd", str(error))
        finally:
            # What this one has found belongs to the next one too, when it could not begin.
            (service.leave if service.takes_over and not self._begun else service.stop)()
        return 0

    def _ready(self) -> None:
        from ...common.host_memory import size_text

        service, config = self._service, self._service.config
        self._begun = True
        self._kept.close()
        gpus, room = f"{service.registry.visible()} {config.device} GPUs", size_text(config.snapshot_bytes)
        print(f"jitc-proxyd ready: {gpus}, up to {room} of host memory for copies, socket {config.socket}", flush=True)
        notify("READY=1")

    def _serve(self) -> None:
        from .hand_over import become, move
        from .kept import Kept

        # With a time limit: a signal may arrive in another thread, but Python runs handlers in this one.
        while not (self._signals.first.wait(SIGNAL_SECONDS) or self._service.keeper.lost):
            if self._service.may_move():
                move(self._service, self._words, self._signals)
            if self._signals.reload:
                self._signals.reload = False  # before the options are read: a later signal counts again
                if (found := changed(self._service, self._words, self._read)) is not None:
                    become([*found, *Kept.of(self._service).words()], self._signals)

    def _end(self) -> None:
        from .hand_over import give_place

        if not (self._signals.replaced or self._service.keeper.lost):
            notify("STOPPING=1")
            self._drain()
        if self._signals.replaced:
            give_place(self._service, self._words, self._signals)
        self._go_on_without_keeper()

    def _go_on_without_keeper(self) -> None:
        from .keeper_lost import ends_without_keeper

        if not self._service.keeper.lost:
            return
        if self._replaces and not self._service.complete:
            complain("jitc-proxyd", GOES_ON)
            os._exit(FAILED)
        ends_without_keeper(self._service, self._kept, self._words, self._signals)

    def _drain(self) -> None:
        alive = self._service.drain()
        if alive:
            print(
                f"jitc-proxyd: stopping; {sessions_are(alive)} still alive and will be served to their end, "
                "no new ones are taken (signal again to end now)",
                file=sys.stderr,
                flush=True,
            )
            self._service.wait_drained(self._signals.second.is_set)


def _open_files_at_will() -> None:
    """Raises the soft limit of descriptors: a session takes a dozen, so the usual 1,024 would allow 80 sessions."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):  # a sandbox may forbid it; then the old limit stays
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _fix_layout() -> None:
    from ...backends.cuda.layout import fix_layout

    fix_layout()  # where that is refused, each worker does it by itself (worker/layout.py)
