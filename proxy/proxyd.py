"""jitc-proxyd: the node service's command. Runs in the foreground, ends cleanly on SIGTERM.

Promises: one line on standard output when ready, and readiness to systemd when NOTIFY_SOCKET is set.
SIGTERM or SIGINT with sessions alive: no new ones, waits for them; a second signal ends at once.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import socket
import sys
import threading
from typing import TYPE_CHECKING

from . import paths
from .backends import DEVICES
from .node.config import HANG_SECONDS, PINNED_MOST

if TYPE_CHECKING:
    from .service import Service

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_PAGE, _LEAST_PINNED = 4096, 1 << 20

#: How long a signal may go unnoticed.
SIGNAL_SECONDS = 0.2


def main(argv: list[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    if arguments.die_with_parent:
        _die_with_parent()
    signals = _Signals()
    if arguments.device == "cuda":
        _fix_layout()
    from .backends.base import NoDevice
    from .node.config import Config  # after the arguments: --help and mistakes answer at once
    from .node.memory import NoSpace
    from .node.sockets import SocketInUse
    from .node.supervisor import NoWorker
    from .service import Service

    config = Config(
        socket=os.path.abspath(arguments.socket or paths.default_socket()),
        device=arguments.device,
        gpus=arguments.gpus,
        workers_per_gpu=arguments.workers_per_gpu,
        hang_seconds=arguments.hang_seconds,
        driver=arguments.driver,
        nccl=arguments.nccl,
        cublas=arguments.cublas,
        cublaslt=arguments.cublaslt,
        nvrtc=arguments.nvrtc,
        cudnn=arguments.cudnn,
        memory_limit=arguments.memory_limit,
        threads=arguments.threads,
        journal_bytes=arguments.journal_limit,
        snapshot_bytes=arguments.copies_limit,
        validate_every=arguments.validate_every,
        pinned_bytes=arguments.pinned_limit,
        spill_dir=arguments.spill_dir,
        spares=arguments.spares,
    )
    try:
        service = Service(config)
    except (NoDevice, SocketInUse, NoSpace, paths.MissingLibrary) as error:
        return _fail(str(error))
    try:
        service.start()
        print(
            f"jitc-proxyd ready: {len(service.registry.gpus)} {config.device} GPUs, socket {config.socket}", flush=True
        )
        notify("READY=1")
        # With a time limit: a signal may arrive in another thread, and Python runs handlers in this one only.
        while not signals.first.wait(SIGNAL_SECONDS):
            pass
        notify("STOPPING=1")
        _drain(service, signals)
    except NoWorker as error:
        return _fail(str(error))
    finally:
        service.stop()
    return 0


class _Signals:
    """SIGTERM and SIGINT: the first asks for the end, the second insists."""

    def __init__(self) -> None:
        self.first, self.second = threading.Event(), threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._arrived)

    def _arrived(self, *_: object) -> None:
        (self.second if self.first.is_set() else self.first).set()


def _drain(service: Service, signals: _Signals) -> None:
    alive = service.drain()
    if alive:
        what = "session is" if alive == 1 else "sessions are"
        print(
            f"jitc-proxyd: stopping; {alive} {what} still alive and will be served to their end, "
            "no new ones are taken (signal again to end now)",
            file=sys.stderr,
            flush=True,
        )
        service.wait_drained(signals.second)


def notify(state: str) -> None:
    """Tells systemd, when it asked (sd_notify protocol)."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
        out.sendto(state.encode(), address)


def _fail(message: str) -> int:
    print(f"jitc-proxyd: {message}", file=sys.stderr)
    return 1


def size(text: str) -> int:
    """Bytes from "4GiB", "512M", "1073741824"."""
    number = text.strip().removesuffix("B").removesuffix("i")
    unit = number[-1:].upper() if number[-1:].isalpha() else ""
    try:
        value = float(number[: len(number) - len(unit)])
    except ValueError:
        value = -1.0
    if unit not in _UNITS or value <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no size; write for example 4GiB")
    return int(value * _UNITS[unit])


def pinned_size(text: str) -> int:
    """A size in whole pages that fits a session's range of addresses, or 0."""
    if text.strip() == "0":
        return 0
    value = size(text)
    if not _LEAST_PINNED <= value <= PINNED_MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is neither 0 nor between 1MiB and 64GiB")
    return value // _PAGE * _PAGE


def count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 64:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 64")
    return int(text)


def whole(text: str) -> int:
    if not text.isdecimal() or int(text) >= 1 << 31:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number; 0 turns it off")
    return int(text)


def seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds; 0 turns it off")
    return value


def add_device_options(parser: argparse.ArgumentParser) -> None:
    """The options that `jitc run` has too."""
    parser.add_argument("--device", choices=DEVICES, default="software", help="kind of device (%(default)s)")
    parser.add_argument(
        "--gpus", type=count, default=0, metavar="N", help="how many GPUs (software: 1; cuda: all that are visible)"
    )
    parser.add_argument(
        "--workers-per-gpu", type=count, default=1, metavar="K",
        help="cuda: serve each physical GPU as K GPUs, a worker and a share of the memory each (%(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--memory-limit", type=size, default=0, metavar="SIZE", help="per GPU (software: 4GiB; cuda: all, divided by K)"
    )
    parser.add_argument(
        "--hang-seconds", type=seconds, default=HANG_SECONDS, metavar="S",
        help="a worker that says nothing or work that makes no progress for so long is a fault; 0: never (%(default)s)",
    )  # fmt: skip
    for name, library in (
        ("driver", "libcuda.so.1"), ("nccl", "libnccl.so.2"), ("cublas", "libcublas"), ("cublaslt", "libcublasLt"),
        ("nvrtc", "libnvrtc"), ("cudnn", "libcudnn.so.9"),
    ):  # fmt: skip
        parser.add_argument(
            f"--{name}",
            default="",
            metavar="PATH",
            help=f"cuda: {library} to use (wheels on the import path, then the system's)",
        )
    parser.add_argument(
        "--threads", type=int, default=0, metavar="N",
        help="threads of one operator; the same number gives the same results (cores divided by GPUs)",
    )  # fmt: skip
    parser.add_argument(
        "--journal-limit", type=size, default="512MiB", metavar="SIZE", help="per session, then it spills (%(default)s)"
    )
    parser.add_argument(
        "--copies-limit", type=size, default="64GiB", metavar="SIZE",
        help="per session, host memory for copies of live device memory, taken as needed (%(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--validate-every", type=whole, default=1000, metavar="N",
        help="optimizer steps between validations: a minibatch is run twice and compared; 0: never (%(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--pinned-limit", type=pinned_size, default="4GiB", metavar="SIZE",
        help="per session, pinned memory shared by program and worker, taken as needed; 0: none (%(default)s)",
    )  # fmt: skip
    parser.add_argument("--spill-dir", default="/var/tmp", metavar="DIR", help="for spilled journals (%(default)s)")
    parser.add_argument("--spares", type=int, default=1, metavar="N", help="warm spare workers (%(default)s)")


def device_words(arguments: argparse.Namespace) -> list[str]:
    """The options of add_device_options again, for a service that is to be started with them."""
    parser = argparse.ArgumentParser(add_help=False)
    add_device_options(parser)
    names = vars(parser.parse_args([]))
    changed = {name: getattr(arguments, name) for name in names if getattr(arguments, name) != parser.get_default(name)}
    return [word for name, value in changed.items() for word in (f"--{name.replace('_', '-')}", str(value))]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="jitc-proxyd",
        description="The jitc node service: owns the GPUs, serves training processes that run with the "
        "interposer preloaded, and recovers them from faults.",
    )
    add_device_options(parser)
    parser.add_argument(
        "--socket", metavar="PATH",
        help="unix socket ($JITC_SOCKET, $XDG_RUNTIME_DIR/jitc/proxyd.sock or /run/jitc/proxyd.sock)",
    )  # fmt: skip
    parser.add_argument("--die-with-parent", action="store_true", help=argparse.SUPPRESS)
    return parser


def _fix_layout() -> None:
    from .backends.layout import fix_layout

    if not fix_layout():
        print(
            "jitc-proxyd: the kernel refuses to lay out processes alike (personality, ADDR_NO_RANDOMIZE; in a "
            "container: its seccomp profile); a device variable whose address a program knows may end a recovery",
            file=sys.stderr,
        )


def _die_with_parent() -> None:
    """`jitc run` was killed: nobody else would end us. Its program may still train, so drain."""
    import ctypes

    ctypes.CDLL(None).prctl(1, signal.SIGTERM, 0, 0, 0)  # PR_SET_PDEATHSIG


if __name__ == "__main__":
    sys.exit(main())
