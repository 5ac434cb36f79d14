"""`jitc run`: a program on a service of its own.

Called by: jitc.py. Promises: the program's output and exit status pass through, and signals reach it; service and
temporary folder are gone afterwards in any case.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ..common import paths
from ..node.socket_lock import PATH_LIMIT
from .options import USAGE, CommandError, check_device_options, device_words, shown

#: How long the service may take to be ready, and to end.
START_SECONDS, STOP_SECONDS = 120, 20
FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGINT)


def run(arguments: argparse.Namespace) -> int:
    program = arguments.program[1:] if arguments.program[:1] == ["--"] else arguments.program
    if not program:
        raise CommandError("no program given; write jitc run --device software --gpus 2 -- PROGRAM ...", USAGE)
    if shutil.which(program[0]) is None:
        raise CommandError(f"cannot run {shown(program[0])}: there is no such program", USAGE)
    check_device_options(arguments)
    preload = paths.preload_library()
    child = _Child()
    with _folder() as directory, private_service(arguments, directory) as socket:
        try:
            return child.run(program, environment(socket, preload))
        except OSError as error:
            raise CommandError(f"cannot run {shown(program[0])}: {error.strerror}") from None


def _folder() -> tempfile.TemporaryDirectory[str]:
    try:
        made = tempfile.TemporaryDirectory(prefix="jitc-")
    except OSError as error:
        raise CommandError(f"no folder for temporary files: {error.strerror}; set TMPDIR to one", USAGE) from None
    if len(os.fsencode(made.name)) + len("/s") > PATH_LIMIT:
        made.cleanup()
        raise CommandError(f"the name of {made.name} is too long for a socket; set TMPDIR to a shorter one", USAGE)
    return made


def environment(socket: str, preload: Path) -> dict[str, str]:
    """The environment in which a program uses the service."""
    before = os.environ.get("LD_PRELOAD", "")
    return dict(os.environ) | {"JITC_SOCKET": socket, "LD_PRELOAD": f"{preload}:{before}" if before else str(preload)}


@contextlib.contextmanager
def private_service(arguments: argparse.Namespace, directory: str) -> Iterator[str]:
    """Starts a service on a socket in the directory, and yields that socket."""
    socket = f"{directory}/s"
    command = [
        sys.executable, "-m", "jitc.proxy.commands.proxyd", "--socket", socket, "--die-with-parent",
        *device_words(arguments),
    ]  # fmt: skip
    kept = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "NOTIFY_SOCKET")}
    service = subprocess.Popen(
        command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, start_new_session=True, env=kept
    )
    assert service.stdout is not None
    try:
        if not _ready(service):
            raise CommandError("the private service did not start; its message is above")
        yield socket
    finally:
        _end(service)
        service.stdout.close()


def _ready(service: subprocess.Popen[bytes]) -> bool:
    import select

    assert service.stdout is not None
    readable, _, _ = select.select([service.stdout], [], [], START_SECONDS)
    return bool(readable) and service.stdout.readline().startswith(b"jitc-proxyd ready")


def _end(service: subprocess.Popen[bytes]) -> None:
    """The program has ended: sessions of stray children of it must not keep the service alive."""
    for _ in range(2):
        with contextlib.suppress(ProcessLookupError):
            service.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            service.wait(2)
            return
    with contextlib.suppress(subprocess.TimeoutExpired):
        service.wait(STOP_SECONDS)
        return
    service.kill()
    service.wait()


class _Child:
    """The program. Signals that this process gets are forwarded; those of the terminal reach the program anyway."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._early = 0
        for number in FORWARDED:
            signal.signal(number, self._arrived)

    def run(self, program: list[str], environ: dict[str, str]) -> int:
        if self._early:
            return 128 + self._early
        self._process = subprocess.Popen(program, env=environ)
        if self._early:
            self._process.send_signal(self._early)
        code = self._process.wait()
        return code if code >= 0 else 128 - code

    def _arrived(self, number: int, _: object) -> None:
        if self._process is None:
            self._early = number
        elif number != signal.SIGINT or not os.isatty(0):
            self._process.send_signal(number)
