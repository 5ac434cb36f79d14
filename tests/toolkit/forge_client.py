"""Programs from a process that has loaded PyTorch already (tests/forge): a start takes a tenth of a second, not three.

Called by: Job and Lockstep. Most tests are about what happens long after a program has started; those about its start
start it by themselves. Promises: a process is used like subprocess.Popen's; all end with this one.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Thread
from typing import TextIO

from .campaign.processes import Lines
from .leaks import MARK
from .waiting import patient

TESTS = Path(__file__).resolve().parents[1]
RANKS = Path(__file__).with_name("ranks.py")
START_SECONDS = 180.0
#: Variables that nothing looks at while PyTorch is loaded: one process starts programs of all values.
LATE = {MARK, "JITC_SOCKET", "TMPDIR", "PACE"}


class Forged:
    """A process that was asked for; the pipe tells of it. Its files are ours where start_piped() has started it."""

    def __init__(self, pipe: int) -> None:
        self._pipe, self._lines = pipe, Lines(pipe)
        self.stdin: TextIO | None = None
        self.stdout: TextIO | None = None
        self.stderr: TextIO | None = None
        self.returncode: int | None = None
        self.pid = 0
        said = self._next(patient(START_SECONDS))
        assert said is not None, "no process was started"
        self.pid = said["pid"]

    def poll(self) -> int | None:
        if self.returncode is None and (said := self._next(0)) is not None:
            self.returncode = said["status"]
        return self.returncode

    def wait(self, seconds: float | None = None) -> int:
        if self.returncode is None:
            said = self._next(seconds)
            if said is None:
                raise subprocess.TimeoutExpired(f"process {self.pid}", seconds or 0.0)
            self.returncode = said["status"]
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """What is left of its output and of its errors, once it has ended; the second time nothing is."""
        if self.stdin:
            self.stdin.close()
        said = ["", ""]
        readers = [Thread(target=self._read, args=(said, one), daemon=True) for one in range(2)]
        for reader in readers:
            reader.start()
        self.wait(timeout)
        for reader in readers:
            reader.join()
        return said[0], said[1]

    def _read(self, said: list[str], number: int) -> None:
        file = (self.stdout, self.stderr)[number]
        if file is not None and not file.closed:
            with file:
                said[number] = file.read()

    def _next(self, seconds: float | None) -> dict[str, int] | None:
        """The next line; None: there is none within so long."""
        line = self._lines.next(seconds)
        assert not self._lines.ended, f"nobody knows how process {self.pid} ended"
        if line is None:
            return None
        said: dict[str, int] = json.loads(line)
        if "status" in said:
            os.close(self._pipe)
        return said


class Forge:
    """Starts programs with these variables, but for late ones."""

    def __init__(self, env: dict[str, str]) -> None:
        self.env = {name: value for name, value in env.items() if name not in LATE}
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "forge", str(theirs.fileno())],
                env={**self.env, MARK: "0" * len(env[MARK])}, cwd=TESTS, stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()], start_new_session=True,
            )  # fmt: skip
        self._control = ours
        atexit.register(self.close)

    def serves(self, env: dict[str, str]) -> bool:
        return self.env == {name: value for name, value in env.items() if name not in LATE}

    def start(
        self, program: Sequence[str], env: dict[str, str], descriptors: tuple[int, int, int], *, ranks: int = 0
    ) -> Forged:
        """descriptors: standard input, output and errors, which stay the caller's; ranks: as ranks.py has it; 0: the
        program itself."""
        question = {"program": list(program), "ranks": ranks, "env": env, "folder": os.getcwd()}
        pipe, end = os.pipe()
        try:
            socket.send_fds(self._control, [json.dumps(question).encode()], [*descriptors, end])
        finally:
            os.close(end)
        return Forged(pipe)

    def start_piped(self, program: Sequence[str], env: dict[str, str], *, ranks: int = 0) -> Forged:
        """With pipes for its standard input, output and errors."""
        (theirs_in, ours_in), (ours_out, theirs_out), (ours_err, theirs_err) = os.pipe(), os.pipe(), os.pipe()
        theirs = (theirs_in, theirs_out, theirs_err)
        try:
            one = self.start(program, env, theirs, ranks=ranks)
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        one.stdin = os.fdopen(ours_in, "w", buffering=1)
        one.stdout, one.stderr = os.fdopen(ours_out), os.fdopen(ours_err)
        return one

    def close(self) -> None:
        self._control.close()
        self._process.wait()


_forges: list[Forge] = []


def start_python(
    program: Sequence[str], env: dict[str, str], *, ranks: int = 0, forged: bool = True, first: Sequence[str] = ()
) -> subprocess.Popen[str] | Forged:
    """Starts a script with pipes for its standard input, output and errors; ranks: as ranks.py has it; forged: it loads
    PyTorch; first: words before the command."""
    if forged and not first and (forge := forge_for(env)):
        return forge.start_piped(program, env, ranks=ranks)
    before = [*first, sys.executable, *([str(RANKS), str(ranks)] if ranks else [])]
    pipe = subprocess.PIPE
    return subprocess.Popen([*before, *program], stdin=pipe, stdout=pipe, stderr=pipe, text=True, bufsize=1, env=env)


def run_python(
    program: Sequence[str], env: dict[str, str], timeout: float, *, ranks: int = 0
) -> subprocess.CompletedProcess[str]:
    """Runs a script to its end, whatever its exit status; ranks: as ranks.py has it."""
    one = start_python(program, env, ranks=ranks)
    try:
        output, errors = one.communicate(timeout=patient(timeout))
    except subprocess.TimeoutExpired:
        one.kill()
        raise
    assert one.returncode is not None
    return subprocess.CompletedProcess(list(program), one.returncode, output, errors)


def forge_for(env: dict[str, str]) -> Forge | None:
    """One that starts programs with these variables; None: a program that is the only one with them is as well started
    by itself."""
    preload = env.get("LD_PRELOAD", "")
    for one in _forges:
        if one.env.get("LD_PRELOAD", "") == preload:
            return one if one.serves(env) else None
    _forges.append(Forge(env))
    return _forges[-1]
