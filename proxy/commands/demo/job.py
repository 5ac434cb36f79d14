"""The processes of the demo: a private node service, and a training job on it.

Called by: command.py. Promise: every process that was started has ended when its ``with`` block is left; the service's
socket and all records lie in a temporary folder that is removed too.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from jitc.v1 import control_pb2

from ... import environment_of_programs
from ...common import rpc
from ...node.workers.processes import readable
from ..installed import preload

START_SECONDS = 120.0
STOP_SECONDS = 20.0
JOB_SECONDS = 600.0
RANKS = 2
#: Lines of a job's output that are shown if it fails.
SHOWN = 30


class DemoFailed(Exception):
    """The demo cannot continue; the text is for the user."""


@contextlib.contextmanager
def service(folder: Path, gpus: int) -> Iterator[str]:
    """Starts a jitc-proxyd for the demo alone; yields its socket."""
    socket = str(folder / "proxyd.sock")
    log = folder / "proxyd.log"
    options = ["--resolved", "--die-with-parent", "--device", "software", "--gpus", str(gpus), "--socket", socket]
    command = [sys.executable, "-m", "jitc.proxy.commands.proxyd", *options]
    env = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "NOTIFY_SOCKET")}
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=output, env=env, start_new_session=True)
    try:
        _wait_ready(process, log)
        yield socket
    finally:
        _end(process)


def _wait_ready(process: subprocess.Popen[bytes], log: Path) -> None:
    assert process.stdout is not None
    if not readable(process.stdout.fileno(), START_SECONDS) or not process.stdout.readline():
        raise DemoFailed(f"the node service did not start:\n{log.read_text(errors='replace')[-2000:]}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Sends SIGTERM to the process group, and SIGKILL if that is not enough."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            if process.poll() is None:
                os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
            break
    if process.stdout is not None:
        process.stdout.close()


def train(script: Path, steps: int, socket: str, folder: Path, line: Callable[[str], None]) -> list[dict[str, Any]]:
    """Runs the script under torchrun and forwards its output line by line. Returns the records of all ranks."""
    folder.mkdir()
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(RANKS)]
    program = [str(script), "--steps", str(steps), "--json", str(folder / "record.json")]
    settings = {"LD_PRELOAD": str(preload.library()), "JITC_SOCKET": socket, "OMP_NUM_THREADS": "1"}
    settings["PYTHONUNBUFFERED"] = "1"
    settings["TMPDIR"] = str(folder)  # torchrun leaves folders behind
    process = subprocess.Popen(
        [sys.executable, *launcher, *program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, env=environment_of_programs() | settings, start_new_session=True,
    )  # fmt: skip
    try:
        output = _relay(process, line)
        if process.wait(STOP_SECONDS) != 0:
            raise DemoFailed("the training job failed:\n" + "\n".join(_cause(output)))
    finally:
        _end(process)
    return [json.loads(path.read_text()) for path in sorted(folder.glob("record.rank*.json"))]


def _cause(lines: list[str]) -> list[str]:
    """Returns the lines that say why a job failed: from the first traceback on, before what the launcher says of it."""
    begin = next((number for number, line in enumerate(lines) if "Traceback (most recent" in line), len(lines) - SHOWN)
    return lines[max(0, begin) :][:SHOWN]


def _relay(process: subprocess.Popen[bytes], line: Callable[[str], None]) -> list[str]:
    """Forwards every line of the job until it ends. Raises DemoFailed after the time limit."""
    assert process.stdout is not None
    descriptor = process.stdout.fileno()
    deadline = time.monotonic() + JOB_SECONDS
    lines: list[str] = []
    rest = b""
    while True:
        if not readable(descriptor, max(0.0, deadline - time.monotonic())):
            raise DemoFailed(f"the training job took over {JOB_SECONDS:.0f} s:\n" + "\n".join(lines[-SHOWN:]))
        data = os.read(descriptor, 65536)
        if not data:
            return lines
        *whole, rest = (rest + data).split(b"\n")
        for one in whole:
            lines.append(one.decode(errors="replace"))
            line(lines[-1])


def inject(socket: str, gpu: int, fault: control_pb2.Fault) -> None:
    with rpc.channel(socket) as channel:
        rpc.admin(channel).Inject(control_pb2.InjectRequest(gpu=gpu, fault=fault), timeout=30)


def report(socket: str) -> list[dict[str, Any]]:
    with rpc.channel(socket) as channel:
        document = json.loads(rpc.admin(channel).Report(control_pb2.ReportRequest(), timeout=30).json)
    recoveries: list[dict[str, Any]] = document["recoveries"]
    return recoveries
