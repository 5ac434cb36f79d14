"""`jitc run`: runs a program with its own service.

Called by: jitc.py. Promises: the program's output and exit status pass through, and signals reach it; service and
temporary folder are removed afterwards in any case.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from .. import environment_of_programs
from ..keeper.claim.socket_lock import PATH_LIMIT
from .installed import preload
from .options import RACES, USAGE, CommandError, program_words, shown
from .private_service import private_service
from .settings.service import device_words, resolve_device_options

#: How long a program's sessions may take to end, once it has ended.
LAST_OPS_SECONDS = 20
FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGINT)


def run(arguments: argparse.Namespace) -> int:
    program = program_words(arguments)
    if not program:
        raise CommandError("no program given; write jitc run --device software --gpus 2 -- PROGRAM ...", USAGE)
    if shutil.which(program[0]) is None:
        raise CommandError(f"cannot run {shown(program[0])}: there is no such program{_as_script(program[0])}", USAGE)
    resolve_device_options(arguments)
    preloaded = preload.library()
    _make_operators_ready(arguments.device)
    child = _Child()
    with _folder() as directory, private_service(device_words(arguments), directory) as socket:
        try:
            code = child.run(program, environment(socket, preloaded, arguments.known_fixes))
        except OSError as error:
            raise CommandError(f"cannot run {shown(program[0])}: {error.strerror}") from None
        return _check_order(socket, code) if arguments.check_order else code


def _as_script(name: str) -> str:
    """Returns what to write if the name is that of a script here."""
    if not os.path.isfile(name):
        return ""
    return f"; run the script by its interpreter (python {name}) or, if it may be executed, by its path (./{name})"


def _make_operators_ready(device: str) -> None:
    """Builds what the service would have to build at its start, which has a time limit. Raises CommandError."""
    if device == "software":
        from ..common import operators

        try:
            operators.made_ready()
        except (operators.CannotBuild, operators.UnsafeStore) as error:
            raise CommandError(str(error)) from None


def _check_order(socket: str, code: int) -> int:
    """Prints how many races the service has reported; returns RACES if the program itself succeeded."""
    from jitc.v1.control_pb2 import ReportRequest, StatusRequest

    from .questions.ask import ask

    deadline = time.monotonic() + LAST_OPS_SECONDS
    while time.monotonic() < deadline:  # what the program has sent last is looked at when its sessions end
        if not any(gpu["sessions"] for gpu in json.loads(ask(socket, "Status", StatusRequest()).json)["gpus"]):
            break
        time.sleep(0.05)
    count = len(json.loads(ask(socket, "Report", ReportRequest()).json)["races"])
    found = "1 race" if count == 1 else f"{count or 'no'} races"
    more = "; docs/finding-races.md says what to do" if count else ""
    print(f"jitc: {found} found{more}", file=sys.stderr, flush=True)
    return code or (RACES if count else 0)


def _folder() -> tempfile.TemporaryDirectory[str]:
    try:
        made = tempfile.TemporaryDirectory(prefix="jitc-")
    except OSError as error:
        raise CommandError(f"no folder for temporary files: {error.strerror}; set TMPDIR to one", USAGE) from None
    if len(os.fsencode(made.name)) + len("/s") > PATH_LIMIT:
        made.cleanup()
        raise CommandError(f"the name of {made.name} is too long for a socket; set TMPDIR to a shorter one", USAGE)
    return made


def environment(socket: str, library: Path, known_fixes: bool = False) -> dict[str, str]:
    """Returns the environment in which a program uses the service. library: that is preloaded; known_fixes: with
    client_shim/known_fixes.py."""
    before = os.environ.get("LD_PRELOAD", "")
    fixes = {"JITC_KNOWN_FIXES": "1"} if known_fixes else {}
    preloaded = {"LD_PRELOAD": f"{library}:{before}" if before else str(library)}
    return environment_of_programs() | {"JITC_SOCKET": socket} | preloaded | fixes


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
