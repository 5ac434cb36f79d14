"""jitc-proxyd: the node service's command. Runs in the foreground, ends cleanly on SIGTERM.

Called by: users, systemd, `jitc run`, the demo. Promises: one line on standard output when it is ready, and readiness
to systemd when NOTIFY_SOCKET is set; a reason why it cannot become ready is one line on standard error (exit status
2: a wrong option, 1: anything else). On SIGTERM or SIGINT with sessions alive it accepts no new ones and waits for
them; a second signal ends it at once. On SIGHUP it reads its options again. When it is killed, programs continue, and
the next one takes over. With --replace that one makes this one stand by: it exits when the other serves, and goes on if
that one cannot.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import signal
import sys
import threading
from typing import TYPE_CHECKING

from ..backends import KINDS
from ..common import paths, standard_streams
from .activation import check_respawn, given_socket
from .options import FAILED, USAGE, CommandError, chosen_socket, complain, people, socket_path
from .parser import Parser, examples
from .private_service import die_with_parent
from .reload import Reader, changed, hears
from .respawn import ENDING, Respawn, sessions_are
from .settings.service import add_device_options, configured, device_words, resolve_device_options
from .settings.setting import SERVICE_SETTINGS
from .settings.users import check_users
from .systemd import Watchdog, notify

if TYPE_CHECKING:
    from ..common.config import Config
    from ..keeper.client import Keeper
    from ..service import Service

#: How long a signal may go unnoticed.
SIGNAL_SECONDS = 0.2


def main(argv: list[str] | None = None) -> int:
    arguments = parser().parse_args(argv)
    try:
        config = _config(arguments)
        if arguments.respawn:
            check_respawn()
    except CommandError as error:
        return complain("jitc-proxyd", str(error), error.code)
    if arguments.print_config:
        return _print_config(arguments, config.socket)
    standard_streams.shield()
    if arguments.die_with_parent:
        die_with_parent(os.getppid())
    read = _Reader(arguments.said or (sys.argv[1:] if argv is None else argv))
    words = read.words(arguments, config)
    if arguments.stay:
        return _stay(config)
    if arguments.respawn:
        return Respawn(words, ["--replace"] * arguments.replace, config.private_directory()).run()
    keeper = None
    if arguments.stand_by is not None:
        from .hand_over import stood_by

        keeper, serves = stood_by(arguments.stand_by, config)
        if serves:
            return _stay(config)
    return _serve(config, words, read, keeper, replace=arguments.replace, left=arguments.left)


def _stay(config: Config) -> int:
    """Returns the exit status of a service that has been replaced, in a container only when nothing needs its first
    process any more."""
    if os.getpid() == 1:
        Respawn([], [], config.private_directory()).stay()
    return 0


class _Reader:
    """The options as they were given, from which they can be read again."""

    def __init__(self, given: list[str]) -> None:
        self._given = [one for one in given if one != "--replace"]

    def words(self, arguments: argparse.Namespace, config: Config) -> list[str]:
        """Returns the options for another program in this one's place, or started by it: as they are now."""
        parent = ["--die-with-parent"] * (arguments.die_with_parent and not arguments.respawn)
        socket = ["--socket", config.socket]  # at the beginning, by which people find the process
        given = (("--users", config.users), ("--admins", config.admins))
        users = [word for name, value in given if value for word in (name, value)]
        return [*socket, *device_words(arguments), *users, *parent, "--said", json.dumps(self._given)]

    def __call__(self) -> tuple[Config, list[str]]:
        """Returns the configuration as it would be now, and its words. Raises CommandError."""
        arguments = parser().parse_args(self._given)
        config = _config(arguments)
        return config, self.words(arguments, config)


def _serve(
    config: Config, words: list[str], read: Reader, keeper: Keeper | None, *, replace: bool, left: dict[str, int] | None
) -> int:
    """Runs the service to its end. words: its options, for another one in its place; read: reads them again; left: the
    logs of the one before, in this process, by user. Returns the exit status."""
    signals, watchdog = _Signals(), Watchdog()
    _open_files_at_will()
    if KINDS[config.device].fixed_layout:
        _fix_layout()
    from ..backends.base import NoDevice  # after the arguments: --help and mistakes answer at once
    from ..common.host_memory import size_text
    from ..common.shared_memory import NoSpace
    from ..keeper.admission import UnknownUser
    from ..keeper.claim.socket_lock import SocketInUse, WrongSocket
    from ..keeper.log import Log
    from ..ranks.rank import NoWorker
    from ..service import Service
    from .hand_over import become, ends_without_keeper, give_place, move

    try:
        paths.transport_library()  # here once, and not in each worker
        known = {int(user): Log(one, lambda descriptor: None) for user, one in (left or {}).items()}
        service = Service(config, replace=replace, keeper=keeper, left=known, listener=given_socket(config.socket))
    except CommandError as error:
        return complain("jitc-proxyd", str(error), error.code)
    except (NoDevice, SocketInUse, NoSpace, UnknownUser, paths.MissingLibrary, OSError) as error:
        return complain("jitc-proxyd", str(error), USAGE if isinstance(error, WrongSocket) else FAILED)
    service.keeper.when_lost(signals.keeper_lost)
    service.keeper.when_handing_over(signals.hand_over)
    begun = False
    try:
        service.start()
        begun = True
        gpus, room = f"{service.registry.visible()} {config.device} GPUs", size_text(service.config.snapshot_bytes)
        print(f"jitc-proxyd ready: {gpus}, up to {room} of host memory for copies, socket {config.socket}", flush=True)
        notify("READY=1")
        watchdog.watch(service)
        # With a time limit: a signal may arrive in another thread, but Python runs handlers in this one.
        while not signals.first.wait(SIGNAL_SECONDS):
            if service.may_move():
                move(service, words, signals)
            if signals.reload:
                signals.reload = False  # before the options are read: a later signal counts again
                if (found := changed(service, words, read)) is not None:
                    become(found, signals)
        if not (signals.replaced or service.keeper.lost):
            notify("STOPPING=1")
            _drain(service, signals)
        if signals.replaced:
            give_place(service, words, signals)
        if service.keeper.lost:
            ends_without_keeper(service, words, signals)
    except (NoWorker, OSError, RuntimeError) as error:  # of gRPC, when the socket cannot be bound
        return complain("jitc-proxyd", str(error))
    finally:
        watchdog.stop()
        # What this one has found belongs to the next one too, when it could not begin.
        (service.leave if service.takes_over and not begun else service.stop)()
    return 0


def _config(arguments: argparse.Namespace) -> Config:
    """Returns the configuration. Raises CommandError."""
    from ..common.config import Config

    resolve_device_options(arguments, SERVICE_SETTINGS)
    socket = chosen_socket(arguments.socket, paths.default_socket)
    check_users(arguments, socket)
    return Config(socket=socket, users=arguments.users, admins=arguments.admins, **configured(arguments))


class _Signals:
    """The signals that end the service, SIGTERM and SIGINT: the first asks for the end, the second forces it. SIGHUP
    asks it to read its options again."""

    def __init__(self) -> None:
        self.first, self.second = threading.Event(), threading.Event()
        self.replaced = self.asked = self.reload = False  # asked: by a signal
        for number in ENDING:
            signal.signal(number, self._arrived)
        heard: tuple[signal.Signals, ...] = ENDING
        if hears():
            signal.signal(signal.SIGHUP, self._reload)
            heard = (*ENDING, signal.SIGHUP)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, heard)

    def _reload(self, *_: object) -> None:
        self.reload = True

    def keeper_lost(self) -> None:
        self.first.set()
        self.second.set()  # no session is left to wait for

    def hand_over(self) -> None:
        self.replaced = True
        self.first.set()
        self.second.set()  # it does not wait for its sessions to end either

    def _arrived(self, *_: object) -> None:
        self.asked = True
        (self.second if self.first.is_set() else self.first).set()


def _drain(service: Service, signals: _Signals) -> None:
    alive = service.drain()
    if alive:
        print(
            f"jitc-proxyd: stopping; {sessions_are(alive)} still alive and will be served to their end, "
            "no new ones are taken (signal again to end now)",
            file=sys.stderr,
            flush=True,
        )
        service.wait_drained(signals.second)


def parser() -> Parser:
    """Returns the parser of `jitc-proxyd`."""
    made = Parser(
        prog="jitc-proxyd",
        usage="jitc-proxyd [option ...]",
        description="The jitc node service: owns the GPUs, serves training processes that run with the "
        "interposer preloaded, and recovers them from faults. Each option is also a variable of the environment "
        "(--gpus: JITC_GPUS) and a line of the configuration (gpus = 2); the first of the three counts.",
        epilog=examples(
            "jitc-proxyd --device cuda",
            "jitc-proxyd --device cuda --spare-gpus 1 --respawn",
            "jitc-proxyd --device software --gpus 2 --socket /tmp/jitc/s",
            "jitc-proxyd --config /etc/jitc/jitc.toml --print-config",
        ),
    )
    add_device_options(made)
    made.add_argument(
        "--socket", type=socket_path, metavar="PATH",
        help="unix socket ($JITC_SOCKET, $XDG_RUNTIME_DIR/jitc/proxyd.sock or /run/jitc/proxyd.sock)",
    )  # fmt: skip
    made.add_argument(
        "--replace", action="store_true", help="take over from a jitc-proxyd that serves this socket: its jobs go on"
    )
    made.add_argument(
        "--respawn", action=argparse.BooleanOptionalAction,
        help="stay beside the service, and start it again when it is killed",
    )  # fmt: skip
    shared = made.add_argument_group("several users")
    shared.add_argument(
        "--users", type=people, metavar="LIST",
        help="also serve programs of these users: names and numbers, @GROUP, or *, with commas between them; each "
        "user's workers run as that user, and limits hold for each (none: the service's own user alone; needs root)",
    )  # fmt: skip
    shared.add_argument(
        "--admins", type=people, metavar="LIST",
        help="those of them whose jitc commands see and influence everybody's programs, as root's do (none)",
    )  # fmt: skip
    made.add_argument(
        "--print-config", action="store_true", help="print each option's value and where it comes from, and exit"
    )
    made.add_argument("--die-with-parent", action="store_true", help=argparse.SUPPRESS)
    made.add_argument("--stay", action="store_true", help=argparse.SUPPRESS)
    made.add_argument("--said", type=json.loads, metavar="WORDS", help=argparse.SUPPRESS)
    made.add_argument("--stand-by", type=int, metavar="DESCRIPTOR", help=argparse.SUPPRESS)
    made.add_argument("--left", type=json.loads, metavar="DESCRIPTORS", help=argparse.SUPPRESS)
    return made


def _open_files_at_will() -> None:
    """Raises the soft limit of descriptors: a session takes a dozen, so the usual 1,024 would allow 80 sessions."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):  # a sandbox may forbid it; then the old limit stays
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _fix_layout() -> None:
    from ..backends.cuda.layout import fix_layout

    fix_layout()  # where that is refused, each worker does it by itself (worker/layout.py)


def _print_config(arguments: argparse.Namespace, socket: str) -> int:
    from .settings.printed import printed

    try:
        print(printed(arguments, socket).encode(errors="backslashreplace").decode(), flush=True)
    except OSError as error:
        return FAILED if isinstance(error, BrokenPipeError) else complain("jitc-proxyd", str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
