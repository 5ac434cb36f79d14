"""The command `jitc doctor`: its options, and its document or text.

Called by: jitc.py, which adds it to its parser. Promises: nothing that a check needs is imported before the command
runs; the exit status is 1 if a check is bad, otherwise 0, whatever could not be found out.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...backends import KINDS
from ..options import FAILED, program_words
from ..parser import examples
from ..questions.command import with_json, with_socket
from ..settings.cluster import TITLE as SEVERAL_NODES
from ..settings.cluster import add_cluster_options
from ..settings.resolve import given
from ..settings.setting import BY_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .check import Check, Context, Result

#: Files of which an NVIDIA driver makes one at its start.
_OF_THE_DRIVER = ("nvidiactl", "nvidia0", "nvidia-uvm")


def add_doctor(commands: Any) -> None:
    """Adds `doctor`."""
    doctor: argparse.ArgumentParser = commands.add_parser(
        "doctor", help="look at this machine, the installation and a program: what is wrong, and what to do",
        description="Looks at this machine, at the installation of jitc and, if one is named, at a program, which is "
        "not started. Says for each point whether it is good, bad or unknown, and what to do. Exit status: 1 if one is "
        "bad.",
        usage="jitc doctor [options] [-- PROGRAM [ARGUMENT ...]]",
        epilog=examples(
            "jitc doctor", "jitc doctor --device cuda", "jitc doctor -- python train.py    also about the program",
            "jitc doctor --cluster etcd://store:2379 --node n0",
        ),
    )  # fmt: skip
    with_json(doctor)
    doctor.add_argument(
        "--device", choices=tuple(KINDS), help="for this kind (JITC_DEVICE, else cuda where an NVIDIA driver is)"
    )
    with_socket(doctor)
    add_cluster_options(doctor.add_argument_group(SEVERAL_NODES))
    doctor.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM ...", help="a program, after --")
    doctor.set_defaults(act=_run)


def _run(arguments: argparse.Namespace) -> int:
    from ..cluster.asked import words_of
    from .check import BAD, Context, run
    from .text import text

    words = tuple(program_words(arguments))
    context = Context(arguments.device or _device(), arguments.socket or "", words, words_of(arguments))
    results = list(run(_groups(), context))
    print(_document(context, results) if arguments.json else text(results))
    return FAILED if any(one.finding.verdict == BAD for one in results) else 0


def _device(folder: Path = Path("/dev")) -> str:
    named = given(BY_NAME["device"])
    if named in KINDS:
        return named
    return "cuda" if any((folder / one).exists() for one in _OF_THE_DRIVER) else "software"


def _groups() -> Iterable[tuple[str, Iterable[Check]]]:
    """Returns the checks. Those of service and cluster come last: gRPC has threads, beside which no process is
    started."""
    from . import gpu, installation, limits, program, service, storage, system
    from .cluster import nodes, store, this_node

    return (
        ("system", (*system.CHECKS, *limits.CHECKS)), ("gpu", gpu.CHECKS), ("installation", installation.CHECKS),
        ("storage", storage.CHECKS), ("program", program.CHECKS), ("service", service.CHECKS),
        ("cluster", (*this_node.CHECKS, *store.CHECKS, *nodes.CHECKS)),
    )  # fmt: skip


def _document(context: Context, results: Sequence[Result]) -> str:
    import json

    from ...status.doctor import Check, Doctor
    from ...status.documents import document
    from .text import counted

    checks = [
        Check(
            name=one.name, group=one.group, verdict=one.finding.verdict, says=one.finding.says,
            remedy=one.finding.remedy,
        )
        for one in results
    ]  # fmt: skip
    program = list(context.program) or None
    return json.dumps(
        document(Doctor(device=context.device, program=program, checks=checks, **counted(results))), indent=2
    )
