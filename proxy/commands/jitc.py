"""The `jitc` command.

Called by: users, scripts, `make demo`. Promises: it answers fast (nothing heavy is imported before it is needed); an
error is one line that names the remedy; --json documents and exit codes keep their form (docs/cli.md). Exit codes: 0
done, 1 failed, 2 wrong use, 3 no service; `jitc run` returns the program's own, or 4 if `--check-order` found a race
and the program succeeded.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import time
from typing import Any

from jitc.ops.faults import KINDS, PHASES
from jitc.ops.options.table import GPUS_MOST
from jitc.ops.options.values import Number, Seconds

from ..common import paths
from .ask import CALL_SECONDS, ask
from .options import (
    FAILED,
    NOT_PROVEN,
    USAGE,
    CommandError,
    add_device_options,
    complain,
    new_file,
    number,
    output_file,
    seconds,
    socket_path,
)
from .parser import Parser, without_a_command

#: Seconds that a fault without a trigger may take to fire.
NOW_SECONDS = 10
FOREVER_MS = 0xFFFF_FFFF
_GPU = number(Number(0, GPUS_MOST - 1))


def main(argv: list[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    try:
        result: int = arguments.act(arguments)
        print(end="", flush=True)  # here, where a failure to write can still be reported
        return result
    except CommandError as error:
        return complain("jitc", str(error), error.code)
    except paths.MissingLibrary as error:
        return complain("jitc", str(error))
    except OSError as error:
        _give_up_output()
        return FAILED if isinstance(error, BrokenPipeError) else complain("jitc", str(error))
    except KeyboardInterrupt:
        return 130


def _give_up_output() -> None:
    """Discards the remaining buffer of standard output; Python would complain about it at exit."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# -- commands -------------------------------------------------------------------------------------


def _run(arguments: argparse.Namespace) -> int:
    from .run import run

    return run(arguments)


def _status(arguments: argparse.Namespace) -> int:
    from jitc.v1.control_pb2 import StatusRequest

    from .text import status

    return _show(ask(arguments.socket, "Status", StatusRequest()).json, arguments.json, status)


def _report(arguments: argparse.Namespace) -> int:
    from jitc.v1.control_pb2 import ReportRequest

    from .text import report

    files = [arguments.html, arguments.trace]
    if [*files, "-" if arguments.json else None].count("-") > 1:
        raise CommandError("only one of --json, --html - and --trace - can go to standard output", USAGE)
    document = ask(arguments.socket, "Report", ReportRequest()).json
    if any(files):
        _draw(json.loads(document), arguments)
    if arguments.json or not any(files):
        _show(document, arguments.json, report)
    outcomes = [one["outcome"] for one in json.loads(document)["recoveries"]]
    return NOT_PROVEN if any(one.startswith("not proven") for one in outcomes) else 0


def _draw(report: dict[str, Any], arguments: argparse.Namespace) -> None:
    from .output import write
    from .timeline.page import page
    from .timeline.trace import trace

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
    reply = ask(arguments.socket, "Inject", request, None if arguments.wait else CALL_SECONDS)
    state = "fired" if reply.fired else "armed"
    detail = f": {reply.detail}" if reply.detail and reply.detail != state else ""
    print(f"{arguments.fault} on GPU {arguments.gpu} {state}{detail}", flush=True)
    return 0


def _validate(arguments: argparse.Namespace) -> int:
    from jitc.v1.control_pb2 import ValidationRequest

    from .text import validation

    request = ValidationRequest(gpu=arguments.gpu, wait_ms=min(FOREVER_MS, int(arguments.timeout * 1000)))
    document = ask(arguments.socket, "Validate", request, arguments.timeout + CALL_SECONDS).json
    _show(document, arguments.json, validation)
    return 0 if json.loads(document)["outcome"] == "identical" else FAILED


def _return_gpu(arguments: argparse.Namespace) -> int:
    from jitc.v1.control_pb2 import ReturnGpuRequest

    print(ask(arguments.socket, "ReturnGpu", ReturnGpuRequest(gpu=arguments.gpu)).detail, flush=True)
    return 0


def _preload_path(_: argparse.Namespace) -> int:
    print(paths.preload_library())
    return 0


def _version(arguments: argparse.Namespace) -> int:
    from .installed import version

    print(json.dumps(version.document(), indent=2) if arguments.json else version.line())
    return 0


def _build_torch(arguments: argparse.Namespace) -> int:
    from .installed.build_torch import run

    return run(arguments)


def _demo(arguments: argparse.Namespace) -> int:
    from .demo.command import run

    return run(arguments)


# -- parts ----------------------------------------------------------------------------------------


def _show(document: str, as_json: bool, text: Any) -> int:
    parsed = json.loads(document)
    print(json.dumps(parsed, indent=2) if as_json else text(parsed))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="jitc",
        description="A transparent CUDA/NCCL proxy: training survives faults without noticing.",
        epilog="Every command explains itself: jitc COMMAND --help.",
    )
    parser.set_defaults(act=lambda _: without_a_command(parser))
    commands = parser.add_subparsers(metavar="COMMAND")
    for add in (_add_run, _add_questions, _add_inject, _add_validate, _add_gpu):
        add(commands)
    text = "print the path for LD_PRELOAD"
    commands.add_parser("preload-path", help=text, description=text).set_defaults(act=_preload_path)
    text = "print the version"
    version = commands.add_parser("version", help=text, description=text)
    _with_json(version).set_defaults(act=_version)
    _add_build_torch(commands)
    _add_demo(commands)
    return parser


def _add_run(commands: Any) -> None:
    run = commands.add_parser(
        "run", help="run a program on a private service",
        description="Starts a service of its own, runs the program with the interposer preloaded, and cleans up. "
        "Output and exit status are the program's.",
        usage="jitc run [options] -- PROGRAM [ARGUMENT ...]",
    )  # fmt: skip
    add_device_options(run)
    run.add_argument(
        "--known-fixes", action="store_true",
        help="apply remedies for known defects of PyTorch in the program (docs/cli.md lists them)",
    )  # fmt: skip
    run.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM ...", help="what to run, after --")
    run.set_defaults(act=_run)


def _add_questions(commands: Any) -> None:
    _with_json(_asking(commands, "status", "GPUs, workers and sessions of the service", _status))
    report = _with_json(_asking(commands, "report", "recoveries so far: cause, decision, phases, bytes", _report))
    for name, text in (("html", "draw the timeline of all ranks, as a page for a browser"),
                       ("trace", "write the timeline as trace events, for Perfetto")):  # fmt: skip
        report.add_argument(f"--{name}", type=output_file, metavar="FILE", help=f"{text}; - is standard output")


def _add_inject(commands: Any) -> None:
    inject = _asking(commands, "inject", "make a fault happen, to see the recovery", _inject)
    inject.add_argument("fault", metavar="FAULT", help=f"{', '.join(KINDS[:-1])} or {KINDS[-1]}")
    inject.add_argument("--gpu", type=_GPU, required=True, metavar="N", help="on which GPU")
    inject.add_argument(
        "--at", metavar="TRIGGER",
        help="when (now, if not given): boundary=12,phase=backward[,skip=5] in the minibatch after that boundary "
        f"(phases: {', '.join(PHASES)}), op=1234 at that op, after=100 more ops",
    )  # fmt: skip
    inject.add_argument("--wait", action="store_true", help="until it has fired, and say so")


def _add_validate(commands: Any) -> None:
    text = "run a minibatch of the job on a GPU twice and compare: can the job be guaranteed?"
    validate = _asking(commands, "validate", text, _validate)
    validate.add_argument("--gpu", type=_GPU, required=True, metavar="N", help="a GPU that the job uses")
    validate.add_argument(
        "--timeout", type=seconds(Seconds(1, 1e6, "do not wait")), default=600, metavar="S",
        help="for a verdict (%(default)s)",
    )  # fmt: skip
    _with_json(validate)


def _add_gpu(commands: Any) -> None:
    gpu = commands.add_parser("gpu", help="tell the service of a GPU", description="Tells the service of a GPU.")
    text = "a GPU that was lost can be used again: its ranks move home at their next boundary"
    returned = _asking(gpu.add_subparsers(metavar="WHAT", required=True), "return", text, _return_gpu)
    returned.add_argument("gpu", type=_GPU, metavar="N", help="which GPU")


def _add_build_torch(commands: Any) -> None:
    build = commands.add_parser(
        "build-torch", help="build jitc's part for the PyTorch that is installed",
        description="Builds the native part of jitc for the PyTorch that is installed here, unless there is one, and "
        "prints its folder. It is built at its first use otherwise, which takes minutes and a C++ compiler.",
    )  # fmt: skip
    build.add_argument("--user", action="store_true", help="for this user alone, also where jitc could keep it for all")
    build.set_defaults(act=_build_torch)


def _add_demo(commands: Any) -> None:
    demo = commands.add_parser(
        "demo", help="train a small GPT, kill its GPU, compare",
        description="Trains examples/train_gpt.py three times on two software GPUs: without a fault, with the worker "
        "of GPU 1 killed in a backward pass, and in an optimizer step. Compares the three bit by bit.",
    )  # fmt: skip
    demo.add_argument("--json", type=new_file, metavar="FILE", help="also write the result to FILE as JSON")
    demo.add_argument(
        "--steps", type=number(Number(3, 10_000)), default=20, metavar="N", help="of each run (%(default)s)"
    )
    demo.set_defaults(act=_demo)


def _with_json(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("--json", action="store_true", help="as a JSON document (docs/cli.md)")
    return parser


def _asking(commands: Any, name: str, text: str, act: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    parser.add_argument(
        "--socket", type=socket_path, metavar="PATH", help="the service's socket (JITC_SOCKET, else the default)"
    )
    parser.set_defaults(act=act)
    return parser


if __name__ == "__main__":
    sys.exit(main())
