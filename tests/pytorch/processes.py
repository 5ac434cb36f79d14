"""Runs tests of a file in processes of their own, each under `jitc run`, and sees how each test ends.

Called by: __main__.py. Promises: a test that ends its process is "crashed", one that takes too long is "hung" (with the
stacks of all threads in the log), and in both cases the tests after it run in a new process; no process is left behind.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolkit.campaign.processes import Limit, lines, send, started

from .suite import SuiteFile

HERE = Path(__file__).parent
#: From the start of a process until its first test: service, PyTorch, the file's imports.
START_SECONDS = 300.0
#: For `jitc run` to end once its program has, or when it is asked to; for the stacks of a program's threads.
END_SECONDS, STACKS_SECONDS = 30.0, 2.0
#: After this many processes in a row that reach no test, the file cannot be run.
LOST_STARTS = 2


class CannotRun(Exception):
    """The file does not get as far as its tests."""


@dataclass(frozen=True)
class Result:
    test: str
    outcome: str  # passed, failed, skipped, crashed, hung
    why: str
    seconds: float


@dataclass(frozen=True)
class Place:
    """Where tests come from and where their output goes."""

    sources: Path
    packages: Path
    log: Path
    jitc: tuple[str, ...] = ("--device", "software")

    def environment(self, file: SuiteFile) -> dict[str, str]:
        env = dict(os.environ)
        env["PYTHONPATH"] = os.pathsep.join([str(HERE / "harness"), str(self.packages)])
        env["JITC_PYTORCH_TESTS_HELPERS"] = str(self.sources / "torch" / "testing" / "_internal")
        env["PYTORCH_TESTING_DEVICE_ONLY_FOR"] = "cuda"
        env["DISTRIBUTED_TESTS_DEFAULT_TIMEOUT"] = str(int(file.seconds * 0.8))
        env.setdefault("OMP_NUM_THREADS", "1")
        return env | dict(file.env)

    def command(self, file: SuiteFile, words: list[str]) -> list[str]:
        return [
            sys.executable, "-m", "jitc.proxy.commands.jitc", "run", *self.jitc,
            "--gpus", str(file.gpus), "--memory-limit", file.memory, "--threads", "1", "--",
            sys.executable, str(HERE / "child.py"), "--folder", str(self.sources / "test"), "--file", file.path,
            *(["--device-part"] if file.device_part else []), *(["--prepared"] if file.ranks_prepared else []),
            "--ranks", str(file.ranks), *words,
        ]  # fmt: skip


def listed(place: Place, file: SuiteFile) -> list[str]:
    """The names of the file's tests."""
    for said in _conversation(place, file, None):
        if "tests" in said:
            return list(said["tests"])
    raise CannotRun(f"{file.path}: its tests cannot be listed; see {place.log}")


def results(place: Place, file: SuiteFile, tests: list[str], *, isolated: bool) -> Iterator[Result]:
    """One per test, as they come. isolated: after a test that failed the next one gets a new process; what it left
    (memory that it holds, settings) is no concern of the others. The caller may stop at any time."""
    left, lost = list(tests), 0
    while left:
        before = len(left)
        for one in _one_process(place, file, left, isolated):
            left.remove(one.test)
            yield one
        lost = lost + 1 if len(left) == before else 0
        if lost == LOST_STARTS:
            raise CannotRun(f"{file.path}: no process gets as far as {left[0]}; see {place.log}")


def _one_process(place: Place, file: SuiteFile, tests: list[str], isolated: bool) -> Iterator[Result]:
    """Of these tests, in order, until the process ends; a test that was running then has crashed or hung."""
    running, began = "", time.monotonic()
    end: dict[str, Any] = {}
    for said in _conversation(place, file, tests, ["--stop-after-failure"] if isolated else []):
        if "begin" in said:
            running, began = said["begin"], time.monotonic()
        elif "outcome" in said:
            running = ""
            yield Result(said["end"], said["outcome"], said["why"], said["seconds"])
        elif "status" in said:
            end = said
    if running:
        seconds = round(time.monotonic() - began, 1)
        outcome, why = ("hung", f"no end after {file.seconds:.0f} s") if end["late"] else ("crashed", "")
        yield Result(running, outcome, why or f"its process ended with {end['status']}", seconds)


def _conversation(
    place: Place, file: SuiteFile, tests: list[str] | None, options: Sequence[str] = ()
) -> Iterator[dict[str, Any]]:
    """What a process says, and at last how it ended. It is ended when it is silent for too long, or when the caller
    stops listening. Its temporary files go with it: a test that was ended cannot remove its own."""
    with tempfile.TemporaryDirectory(prefix="jitc-pytorch-") as folder, open(place.log, "ab") as log:
        words = list(options)
        if tests is not None:
            names = Path(folder) / "tests"
            names.write_text("\n".join(tests))
            words += ["--tests", str(names)]
        command, env = place.command(file, words), place.environment(file) | {"TMPDIR": folder}
        pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": log}
        with started(command, env=env, patience=END_SECONDS, **pipes) as process:
            yield from _said(process, file.seconds)


def _said(process: subprocess.Popen[bytes], seconds: float) -> Iterator[dict[str, Any]]:
    """seconds: that one test may take."""
    group, late, limit = 0, False, Limit(START_SECONDS)
    try:
        for line in lines(process, limit):
            said: dict[str, Any] = json.loads(line)
            limit.begin(seconds if "begin" in said else START_SECONDS)
            group = said.get("pid", group)
            yield said
    except subprocess.TimeoutExpired:
        late = True
    finally:
        if group:
            _end_tests(group, process)
    yield {"status": process.poll(), "late": late}


def _end_tests(group: int, process: subprocess.Popen[bytes]) -> None:
    """What is left of them, after a word on where they are; `jitc run` then ends its service and itself."""
    if process.poll() is None:
        send(group, signal.SIGUSR1)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STACKS_SECONDS)
    send(group, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(END_SECONDS)
