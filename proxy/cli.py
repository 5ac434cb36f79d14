"""The `jitc` command.

Promises: answers fast (nothing heavy is imported before it is needed); errors are one line that says
what to do; --json documents and exit codes keep their form (docs/cli.md).
Exit codes: 0 done, 1 failed, 2 wrong use, 3 no service; `jitc run` gives the program's own.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from . import paths
from .proxyd import add_device_options, seconds

if TYPE_CHECKING:
    from jitc.v1.control_pb2 import Fault

FAILED, USAGE, NO_SERVICE = 1, 2, 3
#: Seconds that a fault without a place may take to fire.
NOW_SECONDS = 10
CALL_SECONDS = 15
FOREVER_MS = 0xFFFF_FFFF


class CommandError(Exception):
    """Told in one line; code is the exit status."""

    def __init__(self, message: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code


def main(argv: list[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else argv
    if words[:1] == ["demo"]:  # its options are its own
        from .demo import main as demo

        return demo(words[1:])
    arguments = _parser().parse_args(words)
    try:
        result: int = arguments.act(arguments)
        return result
    except CommandError as error:
        print(f"jitc: {error}", file=sys.stderr)
        return error.code
    except paths.MissingLibrary as error:
        print(f"jitc: {error}", file=sys.stderr)
        return FAILED
    except BrokenPipeError:
        return FAILED
    except KeyboardInterrupt:
        return 130


# -- commands -------------------------------------------------------------------------------------


def _run(arguments: argparse.Namespace) -> int:
    from .cli_run import run

    return run(arguments)


def _status(arguments: argparse.Namespace) -> int:
    from jitc.v1.control_pb2 import StatusRequest

    from .cli_text import status

    return _show(_ask(arguments, "Status", StatusRequest()).json, arguments.json, status)


def _report(arguments: argparse.Namespace) -> int:
    from jitc.v1.control_pb2 import ReportRequest

    from .cli_text import report

    return _show(_ask(arguments, "Report", ReportRequest()).json, arguments.json, report)


def _inject(arguments: argparse.Namespace) -> int:
    from jitc.v1.control_pb2 import InjectRequest

    fault = place(arguments.fault, arguments.at)
    wait_ms = FOREVER_MS if arguments.wait else 0 if arguments.at else NOW_SECONDS * 1000
    request = InjectRequest(gpu=arguments.gpu, fault=fault, wait_ms=wait_ms)
    reply = _ask(arguments, "Inject", request, None if arguments.wait else CALL_SECONDS)
    state = "fired" if reply.fired else "armed"
    detail = f": {reply.detail}" if reply.detail and reply.detail != state else ""
    print(f"{arguments.fault} on GPU {arguments.gpu} {state}{detail}", flush=True)
    return 0


def _validate(arguments: argparse.Namespace) -> int:
    from jitc.v1.control_pb2 import ValidationRequest

    from .cli_text import validation

    request = ValidationRequest(gpu=arguments.gpu, wait_ms=min(FOREVER_MS, int(arguments.timeout * 1000)))
    document = _ask(arguments, "Validate", request, arguments.timeout + CALL_SECONDS).json
    _show(document, arguments.json, validation)
    import json

    return 0 if json.loads(document)["outcome"] == "identical" else FAILED


def _preload_path(_: argparse.Namespace) -> int:
    print(paths.preload_library())
    return 0


def _version(_: argparse.Namespace) -> int:
    from importlib.metadata import version

    print(f"jitc {version('jitc')} (protocol {paths.PROTOCOL_VERSION})")
    return 0


# -- parts ----------------------------------------------------------------------------------------


def place(kind: str, at: str | None) -> Fault:
    """The fault of `jitc inject FAULT --at ...`."""
    from jitc.v1.control_pb2 import Fault

    fault = Fault(kind=kind)
    names = {"boundary": "boundary", "skip": "skip", "op": "sequence", "after": "operations"}
    for part in (at or "").split(",") if at else []:
        name, _, value = part.partition("=")
        if name == "phase":
            fault.phase = value
        elif name in names and value.isdecimal() and int(value) < 1 << 63:
            setattr(fault, names[name], int(value))
            fault.armed_at_boundary |= name == "boundary"
        else:
            message = (
                f"--at {part!r} is not understood; write boundary=12,phase=backward[,skip=5], op=1234 or after=100"
            )
            raise CommandError(message, USAGE)
    return fault


def _ask(arguments: argparse.Namespace, method: str, request: Any, seconds: float | None = CALL_SECONDS) -> Any:
    import os

    import grpc

    from . import rpc

    socket = os.path.abspath(arguments.socket or paths.default_socket())
    if not os.path.exists(socket):
        raise _no_service(socket, "no jitc-proxyd has made it")
    with rpc.channel(socket) as link:
        try:
            return getattr(rpc.admin(link), method)(request, timeout=seconds)
        except grpc.RpcError as error:
            code, details = rpc.status_of(error)
            if code is grpc.StatusCode.UNAVAILABLE:
                why = "it belongs to another user" if not os.access(socket, os.W_OK) else "nothing answers"
                raise _no_service(socket, why) from None
            wrong = (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND)
            raise CommandError(details, USAGE if code in wrong else FAILED) from None


def _no_service(socket: str, why: str) -> CommandError:
    message = (
        f"no service on {socket} ({why}); start one with `jitc-proxyd --device software --gpus 2`, "
        "or name its socket with --socket or JITC_SOCKET"
    )
    return CommandError(message, NO_SERVICE)


def _show(document: str, as_json: bool, text: Any) -> int:
    import json

    parsed = json.loads(document)
    print(json.dumps(parsed, indent=2) if as_json else text(parsed))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="jitc",
        description="A transparent CUDA/NCCL proxy: training survives faults without noticing.",
        epilog="Every command explains itself: jitc COMMAND --help.",
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    run = commands.add_parser(
        "run", help="run a program on a private service",
        description="Starts a service of its own, runs the program with the interposer preloaded, and cleans up. "
        "Output and exit status are the program's.",
        usage="jitc run [options] -- PROGRAM [ARGUMENT ...]",
    )  # fmt: skip
    add_device_options(run)
    run.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM ...", help="what to run, after --")
    run.set_defaults(act=_run)

    status = _asking(commands, "status", "GPUs, workers and sessions of the service", _status)
    status.add_argument("--json", action="store_true", help="as a JSON document (docs/cli.md)")
    report = _asking(commands, "report", "recoveries so far: cause, decision, phases, bytes", _report)
    report.add_argument("--json", action="store_true", help="as a JSON document (docs/cli.md)")

    inject = _asking(commands, "inject", "make a fault happen, to see the recovery", _inject)
    inject.add_argument(
        "fault", metavar="FAULT",
        help="kill-worker, stop-worker, sticky-error, illegal-access, endless-kernel, hung-collective or xid",
    )  # fmt: skip
    inject.add_argument("--gpu", type=int, required=True, metavar="N", help="on which GPU")
    inject.add_argument(
        "--at", metavar="PLACE",
        help="when (now, if not given): boundary=12,phase=backward[,skip=5] in the minibatch after that boundary "
        "(phases: forward, backward, optimizer, collective, copy, boundary), op=1234 at that op, after=100 more ops",
    )  # fmt: skip
    inject.add_argument("--wait", action="store_true", help="until it has fired, and say so")

    validate = _asking(
        commands, "validate", "run a minibatch of the job on a GPU twice and compare: can the job be guaranteed?",
        _validate,
    )  # fmt: skip
    validate.add_argument("--gpu", type=int, required=True, metavar="N", help="a GPU that the job uses")
    validate.add_argument("--timeout", type=seconds, default=600, metavar="S", help="for a verdict (%(default)s)")
    validate.add_argument("--json", action="store_true", help="as a JSON document (docs/cli.md)")

    for name, text, act in (
        ("preload-path", "print the path for LD_PRELOAD", _preload_path),
        ("version", "print the version", _version),
    ):
        commands.add_parser(name, help=text, description=text).set_defaults(act=act)
    commands.add_parser("demo", help="train a small GPT, kill its GPU, compare (jitc demo --help)", add_help=False)
    return parser


def _asking(commands: Any, name: str, text: str, act: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    parser.add_argument("--socket", metavar="PATH", help="the service's socket (JITC_SOCKET, else the default)")
    parser.set_defaults(act=act)
    return parser


if __name__ == "__main__":
    sys.exit(main())
