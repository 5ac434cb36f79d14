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
import json
import os
import sys
from typing import TYPE_CHECKING

from ..common import paths, standard_streams
from .lifecycle.activation import check_respawn, stored
from .lifecycle.respawn import Respawn
from .lifecycle.systemd import descriptor_store
from .options import FAILED, CommandError, chosen_socket, complain, people, socket_path
from .parser import Parser, examples
from .private_service import die_with_parent
from .settings.cluster import TITLE as SEVERAL_NODES
from .settings.cluster import add_cluster_options, cluster_options, cluster_words
from .settings.service import add_device_options, configured, device_words, resolve_device_options
from .settings.setting import SERVICE_SETTINGS
from .settings.users import check_users

if TYPE_CHECKING:
    from ..common.config import Config


#: The title of the options about users.
_SHARED = "several users"


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
    from ..keeper.backup import Backup
    from .lifecycle.kept import Kept
    from .lifecycle.serve import Before, serve

    before = Before(Backup(descriptor_store()), Kept.read(arguments.kept) if arguments.kept is not None else Kept())
    before.kept.memory |= stored()
    if arguments.stand_by is not None:
        from .lifecycle.hand_over import stood_by

        before.keeper, serves = stood_by(arguments.stand_by, config, before.backup, before.kept)
        if serves:
            return _stay(config)
    before.left, before.replace = arguments.left or {}, arguments.replace
    return serve(config, words, read, before)


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
        others = [*users, *cluster_words(arguments), *parent]
        return [*socket, *device_words(arguments), *others, "--said", json.dumps(self._given)]

    def __call__(self) -> tuple[Config, list[str]]:
        """Returns the configuration as it would be now, and its words. Raises CommandError."""
        arguments = parser().parse_args(self._given)
        config = _config(arguments)
        return config, self.words(arguments, config)


def _config(arguments: argparse.Namespace) -> Config:
    """Returns the configuration. Raises CommandError."""
    from ..common.config import Config

    resolve_device_options(arguments, SERVICE_SETTINGS)
    socket = chosen_socket(arguments.socket, paths.default_socket)
    check_users(arguments, socket)
    cluster = cluster_options(arguments)
    return Config(
        socket=socket, users=arguments.users, admins=arguments.admins, cluster=cluster, **configured(arguments)
    )  # fmt: skip


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
    groups = add_device_options(made, _SHARED, SEVERAL_NODES)
    shared = groups[_SHARED]
    add_cluster_options(groups[SEVERAL_NODES])
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
    made.add_argument("--kept", type=int, metavar="DESCRIPTOR", help=argparse.SUPPRESS)
    made.add_argument("--left", type=json.loads, metavar="DESCRIPTORS", help=argparse.SUPPRESS)
    return made


def _print_config(arguments: argparse.Namespace, socket: str) -> int:
    from .settings.printed import printed

    try:
        print(printed(arguments, socket).encode(errors="backslashreplace").decode(), flush=True)
    except OSError as error:
        return FAILED if isinstance(error, BrokenPipeError) else complain("jitc-proxyd", str(error))
    return 0


if __name__ == "__main__":
    from .entry import jitc_proxyd

    sys.exit(jitc_proxyd())
