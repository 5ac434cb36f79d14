"""The commands that ask a running service: status, report, inject, validate, gpu.

Called by: jitc.py, which adds them to its parser. Promise: what a service says reaches standard output as text, as
tables (../terminal), as one JSON document, or as a file; the exit status says whether the answer is good.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from typing import Any

from jitc.ops.faults import KINDS, PHASES
from jitc.ops.options.table import GPUS_MOST
from jitc.ops.options.values import Number, Seconds

from ..options import (
    FAILED,
    NOT_PROVEN,
    USAGE,
    CommandError,
    node_name,
    number,
    output_file,
    seconds,
    shown,
    socket_path,
)
from ..parser import examples
from ..terminal.colour import AUTO, COLOURS, NEVER, print_tables
from .ask import CALL_SECONDS
from .nodes import Whom

#: Seconds that a fault without a trigger may take to fire.
NOW_SECONDS = 10
FOREVER_MS = 0xFFFF_FFFF
#: Seconds between two pictures of `jitc status --watch`.
WATCH_LEAST, WATCH_MOST = 0.1, 3600.0
_GPU = number(Number(0, GPUS_MOST - 1))


# -- parsers --------------------------------------------------------------------------------------


def add_questions(commands: Any) -> None:
    """Adds `status`, `report` and `validate`."""
    status = _asking(
        commands, "status", "GPUs, workers and sessions of the service", _status,
        "jitc status", "jitc status --watch", "jitc status --json | jq '.gpus[].state'", "jitc status --all-nodes",
    )  # fmt: skip
    _with_color(with_json(_with_nodes(status, every=True)))
    status.add_argument(
        "--watch", nargs="?", type=_interval, const=1.0, metavar="SECONDS",
        help="again and again, every so many seconds (%(const)g); Ctrl-C ends it",
    )  # fmt: skip
    text = "recoveries so far: cause, decision, phases, bytes"
    report = _asking(
        commands, "report", text, _report,
        "jitc report", "jitc report --follow", "jitc report --html report.html    for a browser",
    )  # fmt: skip
    _with_color(with_json(_with_nodes(report, every=True)))
    text = "print each further recovery when its proof is known; with --json one document a line"
    report.add_argument("--follow", action="store_true", help=text)
    for name, text in (("html", "draw the timeline of all ranks, as a page for a browser"),
                       ("trace", "write the timeline as trace events, for Perfetto")):  # fmt: skip
        report.add_argument(f"--{name}", type=output_file, metavar="FILE", help=f"{text}; - is standard output")
    text = "run a minibatch of the job on a GPU twice and compare: can the job be guaranteed?"
    validate = _asking(commands, "validate", text, _validate, "jitc validate --gpu 0")
    validate.add_argument("--gpu", type=_GPU, required=True, metavar="N", help="a GPU that the job uses")
    validate.add_argument(
        "--timeout", type=seconds(Seconds(1, 1e6, "do not wait")), default=600, metavar="S",
        help="for a verdict (%(default)s)",
    )  # fmt: skip
    _with_color(with_json(_with_nodes(validate)))


def add_gpu(commands: Any) -> None:
    """Adds `gpu return`."""
    example = "jitc gpu return 1"
    gpu = commands.add_parser(
        "gpu", help="tell the service of a GPU", description="Tells the service of a GPU.", epilog=examples(example)
    )  # fmt: skip
    text = "a GPU that was lost can be used again: its ranks move home at their next boundary"
    returned = _asking(gpu.add_subparsers(metavar="WHAT", required=True), "return", text, _return_gpu, example)
    _with_nodes(returned).add_argument("gpu", type=_GPU, metavar="N", help="which GPU")


def add_inject(commands: Any) -> None:
    """Adds `inject`."""
    inject = _asking(
        commands, "inject", "make a fault happen, to see the recovery", _inject,
        "jitc inject kill-worker --gpu 1", "jitc inject sticky-error --gpu 0 --at boundary=12,phase=backward",
    )  # fmt: skip
    _with_nodes(inject).add_argument("fault", metavar="FAULT", help=f"{', '.join(KINDS[:-1])} or {KINDS[-1]}")
    inject.add_argument("--gpu", type=_GPU, required=True, metavar="N", help="on which GPU")
    inject.add_argument(
        "--at", metavar="TRIGGER",
        help="when (now, if not given): boundary=12,phase=backward[,skip=5] in the minibatch after that boundary "
        f"(phases: {', '.join(PHASES)}), op=1234 at that op, after=100 more ops",
    )  # fmt: skip
    inject.add_argument("--wait", action="store_true", help="until it has fired, and say so")


def with_socket(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Adds --socket."""
    parser.add_argument(
        "--socket", type=socket_path, metavar="PATH",
        help="the service's socket (JITC_SOCKET, else the user's own or the system's)",
    )  # fmt: skip
    return parser


def _with_nodes(parser: argparse.ArgumentParser, every: bool = False) -> argparse.ArgumentParser:
    """Adds --node, and --all-nodes to what only asks."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--node", type=node_name, metavar="NAME",
        help="a node of the cluster whose service is to answer, through this one (this one)",
    )  # fmt: skip
    if every:
        group.add_argument("--all-nodes", action="store_true", help="all nodes of the cluster, through this service")
    return parser


def with_json(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Adds --json."""
    parser.add_argument("--json", action="store_true", help="as a JSON document (docs/cli.md)")
    return parser


def _with_color(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument(
        "--color", choices=COLOURS, default=AUTO,
        help="tables and colour: on a terminal (auto), through a pipe too (always), tables without colour (never)",
    )  # fmt: skip
    return parser


def _interval(text: str) -> float:
    """Parses the seconds of --watch."""
    value = float(text) if re.fullmatch(r"[0-9]{1,4}(?:\.[0-9]{1,9})?", text, re.ASCII) else 0.0
    if not WATCH_LEAST <= value <= WATCH_MOST:
        allowed = f"from {WATCH_LEAST:g} to {WATCH_MOST:g}"
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a number of seconds {allowed}")
    return value


def _asking(commands: Any, name: str, text: str, act: Any, *lines: str) -> argparse.ArgumentParser:
    """lines: examples."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=text[0].upper() + text[1:] + ".", epilog=examples(*lines)
    )
    with_socket(parser).set_defaults(act=act)
    return parser


# -- what they do ---------------------------------------------------------------------------------


def _status(arguments: argparse.Namespace) -> int:
    from jitc.v1.control_pb2 import StatusRequest

    from .text import status

    if arguments.watch is not None:
        from ..terminal.watch import watch

        return watch(_whom(arguments), arguments.watch, arguments.color, arguments.json)
    return _show(_whom(arguments).document("Status", StatusRequest()), arguments.json, status, arguments.color)


def _report(arguments: argparse.Namespace) -> int:
    from jitc.v1.control_pb2 import ReportRequest

    from .text import report

    if arguments.follow:
        return _follow(arguments)
    files = [arguments.html, arguments.trace]
    if [*files, "-" if arguments.json else None].count("-") > 1:
        raise CommandError("only one of --json, --html - and --trace - can go to standard output", USAGE)
    document = _whom(arguments).document("Report", ReportRequest())
    if any(files):
        _draw(document, arguments)
    if arguments.json or not any(files):
        _show(document, arguments.json, report, arguments.color)
    outcomes = [one["outcome"] for one in document["recoveries"]]
    return NOT_PROVEN if any(one.startswith("not proven") for one in outcomes) else 0


def _follow(arguments: argparse.Namespace) -> int:
    if arguments.html is not None or arguments.trace is not None:
        raise CommandError("--follow goes with neither --html nor --trace: these draw what there is", USAGE)
    if arguments.all_nodes:
        raise CommandError("--follow goes with --node, not with --all-nodes", USAGE)
    from ..terminal.follow import follow

    return follow(_whom(arguments), arguments.color, arguments.json)


def _draw(report: dict[str, Any], arguments: argparse.Namespace) -> None:
    from ..timeline.page import page
    from ..timeline.trace import trace
    from .output import write
    from .users import with_users

    report = with_users(report)
    if arguments.html is not None:
        write(arguments.html, page(report, time.time()))
    if arguments.trace is not None:
        write(arguments.trace, json.dumps(trace(report)) + "\n")


def _inject(arguments: argparse.Namespace) -> int:
    from jitc.v1.control_pb2 import InjectRequest

    from .trigger import parse_trigger

    fault = parse_trigger(arguments.fault, arguments.at)
    wait_ms = FOREVER_MS if arguments.wait else 0 if arguments.at else NOW_SECONDS * 1000
    request = InjectRequest(gpu=arguments.gpu, fault=fault, wait_ms=wait_ms)
    whom = _whom(arguments)
    reply = whom.ask("Inject", request, None if arguments.wait else CALL_SECONDS)
    state = "fired" if reply.fired else "armed"
    detail = f": {reply.detail}" if reply.detail and reply.detail != state else ""
    print(f"{arguments.fault} on GPU {arguments.gpu}{whom.on()} {state}{detail}", flush=True)
    return 0 if reply.fired or not arguments.wait else FAILED


def _validate(arguments: argparse.Namespace) -> int:
    from jitc.v1.control_pb2 import ValidationRequest

    from .text import validation

    request = ValidationRequest(gpu=arguments.gpu, wait_ms=min(FOREVER_MS, int(arguments.timeout * 1000)))
    reply = _whom(arguments).ask("Validate", request, arguments.timeout + CALL_SECONDS)
    document = json.loads(reply.json)
    _show(document, arguments.json, validation, arguments.color)
    return 0 if document["outcome"] == "identical" else FAILED


def _return_gpu(arguments: argparse.Namespace) -> int:
    from jitc.v1.control_pb2 import ReturnGpuRequest

    print(_whom(arguments).ask("ReturnGpu", ReturnGpuRequest(gpu=arguments.gpu)).detail, flush=True)
    return 0


def _whom(arguments: argparse.Namespace) -> Whom:
    return Whom(arguments.socket, arguments.node, getattr(arguments, "all_nodes", False))


def _show(document: dict[str, Any], as_json: bool, text: Any, color: str = NEVER) -> int:
    """Prints a document; text: the function of text.py, after which the tables are named."""
    if as_json:
        print(json.dumps(document, indent=2))
    elif not print_tables(text.__name__, document, color):
        print(text(document))
    return 0
