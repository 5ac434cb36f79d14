"""Nodes of namespaces for a shell: scripts/nodes.sh.

    scripts/nodes.sh up 3            n0, n1 and n2 at 10.77.0.1 to 10.77.0.3, which know each other's names
    scripts/nodes.sh sh 0 hostname   a command in n0; without one a shell
    scripts/nodes.sh cut 0           n0 and all others hear nothing of each other ("cut 0 1": these two alone)
    scripts/nodes.sh one-way 0       what n0 sends is lost, what others send arrives ("one-way 0 1": to n1 alone)
    scripts/nodes.sh loss 0 30       30 % of the packets to and from n0 are lost
    scripts/nodes.sh rate 0 100      100 Mbit/s in each direction
    scripts/nodes.sh heal 0          ends all of these faults at n0
    scripts/nodes.sh kill 0          ends all processes of n0 at once; others hear nothing more of it
    scripts/nodes.sh add 0           n0 comes back, with nothing that it had; "add" alone: another node
    scripts/nodes.sh down            ends all nodes and everything in them

A node has a network, processes, /run, /dev/shm and a host name of its own; other files are those of the machine. Needs
root and what `scripts/system-packages.sh cluster` installs. --name keeps several sets apart, which do not see each
other. Called by: scripts/nodes.sh.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable

from . import saved
from .namespaces import NamespaceNodes, why_not
from .spaces import identity

#: Verb -> what is called with the numbers behind it; one in brackets may be left out.
_VERBS: dict[str, tuple[Callable[..., object], str]] = {
    "add": (NamespaceNodes.add, "[N]"),
    "cut": (NamespaceNodes.cut, "N [M]"),
    "heal": (NamespaceNodes.heal, "N"),
    "one-way": (NamespaceNodes.one_way, "N [M]"),
    "loss": (NamespaceNodes.loss, "N PERCENT"),
    "rate": (NamespaceNodes.rate, "N MBIT"),
    "kill": (NamespaceNodes.kill, "N"),
}


def main(words: list[str]) -> int:
    """Returns the exit status: of `sh` that of its command."""
    arguments = _parser().parse_args(words)
    try:
        if os.geteuid() != 0:
            raise ValueError("only root can make nodes of namespaces, or reach them")
        with saved.locked():
            process = _do(arguments)
    except (OSError, ValueError) as error:
        print(f"nodes.sh: {str(error).splitlines()[0]}", file=sys.stderr)
        return 1
    if process is None:
        return 0
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command hears it too, and decides
    status = process.wait()
    return status if status >= 0 else 128 - status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="nodes.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--name", default="nodes", help="of the set (nodes)")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    up = verbs.add_parser("up")
    up.add_argument("count", type=int, metavar="N")
    up.add_argument("--owner", type=int, metavar="PID", help="a process after whose end the next `up` ends the set")
    for verb, (_, numbers) in _VERBS.items():
        one = verbs.add_parser(verb)
        for name in numbers.split():
            one.add_argument(
                "numbers", type=int, action="append", metavar=name.strip("[]"), nargs="?" if "[" in name else None
            )
    shell = verbs.add_parser("sh")
    shell.add_argument("number", type=int, metavar="N")
    shell.add_argument("command", nargs=argparse.REMAINDER, metavar="CMD")
    verbs.add_parser("down")
    return parser


def _do(arguments: argparse.Namespace) -> subprocess.Popen[str] | None:
    """Does what is asked for. Returns the process of `sh`."""
    name, verb = arguments.name, arguments.verb
    if not re.fullmatch(r"[\w-]+", name):
        raise ValueError(f"{name!r} is no name: letters, digits, _ and -")
    if verb == "up":
        _up(name, arguments.count, arguments.owner)
        return None
    if not saved.exists(name):
        raise ValueError("there are no nodes; make some: nodes.sh up 2")
    if verb == "down":
        saved.remove(name)
        return None
    with saved.changed(name) as nodes:
        if verb == "sh":
            return _shell(nodes, arguments.number, arguments.command)
        _VERBS[verb][0](nodes, *(one for one in arguments.numbers if one is not None))
    return None


def _up(name: str, count: int, owner: int | None) -> None:
    saved.sweep()
    if saved.exists(name):
        raise ValueError("there are nodes already; end them: nodes.sh down")
    if reason := why_not():
        raise ValueError(reason)
    if owner is not None and identity(owner) is None:
        raise ValueError(f"there is no process {owner}")
    nodes = NamespaceNodes(count, tied=False)
    try:
        saved.save(name, nodes, None if owner is None else identity(owner))
    except BaseException:
        nodes.close()
        raise
    for one in nodes:
        print(f"{one.name} {one.address}")


def _shell(nodes: NamespaceNodes, number: int, words: list[str]) -> subprocess.Popen[str]:
    if number not in nodes.holders():
        raise ValueError(f"there is no node {number}; there are {sorted(nodes.holders())}")
    words = words[words[:1] == ["--"] :] or [os.environ.get("SHELL", "sh")]
    shared = dict.fromkeys(("stdin", "stdout", "stderr"))
    return nodes[number].start(words, **shared, start_new_session=False)
