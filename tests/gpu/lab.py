"""Where a step gets its processes from: programs with a line of JSON at a time, time limits, what they said.

Called by: step.py, which makes one per step; the steps. Needs nothing but the standard library, so that it runs on a
bare machine from a carried folder. Promises: nothing waits longer than the step may; every process is ended with the
step; what each of them printed is in a file of its own in the step's folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from . import stacks
from .places import PACKAGE
from .results import FAILED, NOT_RUN, REFUSED, SLOW

_OURS = ("jitc:", "jitc-proxyd:", "jitc-worker:")


class Verdict(Exception):
    """Ends a step with another verdict than passed; data is what is known anyway."""

    verdict = FAILED

    def __init__(self, reason: str, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(reason)
        self.data = dict(data or {})


class StepFailed(Verdict):
    """Something is not as it should be."""


class StepSlow(Verdict):
    """All is right, but a goal of its speed is missed."""

    verdict = SLOW


class StepRefused(Verdict):
    """It is not served, by design, and the program's user is told so."""

    verdict = REFUSED


class StepNotRun(Verdict):
    """What the step checks is not there; the reason says what and why."""

    verdict = NOT_RUN


class Lab:
    """One step's. known: what earlier steps found out, by their name; it may be empty."""

    def __init__(
        self, folder: Path, device: str = "cuda", options: Sequence[str] = (), *, seconds: float = 3600.0,
        known: Mapping[str, Any] | None = None, tell: Callable[[dict[str, Any]], None] = lambda data: None,
        scratch: Path | None = None, stand_ins: bool = False,
    ) -> None:  # fmt: skip
        self.folder, self.device, self.options, self.known = folder, device, tuple(options), dict(known or {})
        self.data: dict[str, Any] = {}
        self.stand_ins = stand_ins  # for NVIDIA's libraries
        self._tell = tell
        self._end = time.monotonic() + seconds
        self._open: list[Program] = []
        self._count = self._scratched = 0
        self._scratch = scratch
        self._parts: list[Lab] = []

    @property
    def rehearsal(self) -> bool:
        return self.device != "cuda"

    def note(self, **data: Any) -> None:
        """Known from now on, also when the step does not come to its end."""
        self.data |= data
        self._tell(self.data)

    def left(self, most: float = 3600.0) -> float:
        """Seconds that a wait may take."""
        left = min(most, self._end - time.monotonic())
        if left <= 0:
            raise StepFailed("the step's time is over")
        return left

    def over(self, least: float = 0.0) -> bool:
        """Whether the time is over, or all of it but so many seconds."""
        return self._end - time.monotonic() <= least

    def environment(self, **changes: str) -> dict[str, str]:
        """Of every process: jitc and this package can be imported, and libraries say what goes wrong."""
        kept = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "JITC_SOCKET")}
        told = {
            "NCCL_DEBUG": "WARN", "CUDNN_LOGLEVEL_DBG": "1", "CUDNN_LOGDEST_DBG": "stderr", "CUBLASLT_LOG_LEVEL": "1",
            "CUBLASLT_LOG_FILE": str(self.folder / "cublaslt-%i.log"), "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
        }  # fmt: skip
        kept = told | kept | {"PYTHONPATH": _joined(*import_path(), kept.get("PYTHONPATH", ""))}
        return kept | changes

    def program(self, module: str, *words: str, socket: str = "", **environ: str) -> Program:
        """python -m gpu.programs.MODULE WORDS; with the interposer preloaded where it is given a service's socket."""
        told = self.environment(**environ)
        if socket:
            told |= {"JITC_SOCKET": socket, "LD_PRELOAD": preload()}
        name = f"{module}-{'proxied' if socket else 'native'}{'-' + environ['RANK'] if 'RANK' in environ else ''}"
        return self.python(name, ["-m", f"gpu.programs.{module}", *words], told)

    def python(self, name: str, words: Sequence[str], environ: Mapping[str, str]) -> Program:
        return self.start(name, [sys.executable, *words], environ)

    def start(self, name: str, command: list[str], environ: Mapping[str, str]) -> Program:
        program = Program(self, name, command, environ, self.file(f"{name}.log"))
        self._open.append(program)
        return program

    def file(self, name: str) -> Path:
        """A new one in the step's folder, numbered in the order of their making."""
        self._count += 1
        return self.folder / f"{self._count:02}-{name}"

    def scratch(self) -> Path:
        """A new folder, whose name is short enough for sockets. Who made the lab removes it, also when this process is
        killed."""
        assert self._scratch is not None
        self._scratched += 1
        folder = self._scratch / str(self._scratched)
        folder.mkdir(mode=0o700)
        return folder

    def part(self, name: str) -> Lab:
        """For work that runs beside the step's other work, in a thread of its own: with its own processes and files."""
        folder = self.folder / name
        folder.mkdir(parents=True)
        part = Lab(
            folder, self.device, self.options, seconds=self._end - time.monotonic(), known=self.known,
            scratch=self.scratch() if self._scratch else None, stand_ins=self.stand_ins,
        )  # fmt: skip
        self._parts.append(part)
        return part

    def close(self) -> None:
        """Ends what still runs, newest first."""
        for part in self._parts:
            part.close()
        self.close_since(0)

    def close_since(self, count: int) -> None:
        """The programs after the first count; without patience once the time is over."""
        while len(self._open) > count:
            self._open[-1].close(5.0 if time.monotonic() < self._end else 0.0)

    def place(self, program: Program) -> int:
        return self._open.index(program)

    def ended(self, program: Program) -> None:
        self._open = [one for one in self._open if one is not program]

    def said(self) -> Counter[str]:
        """Lines of jitc's in all logs."""
        found: Counter[str] = Counter()
        for log in self.folder.rglob("*.log"):
            lines = (line.strip() for line in log.read_text(errors="replace").splitlines())
            found.update(line for line in lines if line.startswith(_OURS))
        return found


class Program:
    """A child that answers with lines on standard output; standard error goes to its log."""

    def __init__(self, lab: Lab, name: str, command: list[str], environ: Mapping[str, str], log: Path) -> None:
        self._lab, self._log, self.name = lab, log, name
        with log.open("wb") as errors:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=dict(environ),
                start_new_session=True,
            )  # fmt: skip
        self._buffer = b""
        self.finished = False  # nothing comes any more
        self.greeting: dict[str, Any] = {}  # what it said when it was ready
        self.closed = False

    def line(self, seconds: float = 3600.0) -> str | None:
        """The next line; None at the end. StepFailed when it takes too long."""
        return first_lines([self], self._lab.left(seconds))[0]

    def answer(self, seconds: float = 3600.0) -> dict[str, Any]:
        line = self.line(seconds)
        if line is None:
            raise StepFailed(self.how_it_ended())
        document: dict[str, Any] = json.loads(line)
        return document

    def documents(self) -> list[dict[str, Any]]:
        """All that it says until it ends."""
        found = []
        while (line := self.line()) is not None:
            found.append(json.loads(line))
        return found

    def tell(self, **request: Any) -> None:
        stdin = _file(self.process.stdin)
        with contextlib.suppress(BrokenPipeError):
            stdin.write(json.dumps(request).encode() + b"\n")
            stdin.flush()

    def how_it_ended(self) -> str:
        """After the end of its output."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        return f"{self.name} ended with {self.process.returncode}: {self.tail()}"

    def said(self) -> str:
        return self._log.read_text(errors="replace")

    def tail(self) -> str:
        """The last lines that it printed as errors."""
        return " | ".join(line for line in self.said().splitlines()[-6:] if line.strip())[-1200:]

    def keep_stacks(self) -> None:
        """What every process of the step does, into its folder."""
        stacks.write(self._lab.file("stacks.txt"))

    def take_line(self) -> str | None:
        """A whole line that has arrived."""
        if b"\n" not in self._buffer:
            return None
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode(errors="replace")

    def receive(self) -> bool:
        """Reads what is there; False at the end of its output."""
        data = os.read(self.output(), 1 << 16)
        self._buffer += data
        self.finished = not data
        return bool(data)

    def output(self) -> int:
        return _file(self.process.stdout).fileno()

    def close(self, seconds: float = 5.0) -> None:
        if self.closed:
            return
        self.closed = True
        with contextlib.suppress(OSError):
            _file(self.process.stdin).close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        _file(self.process.stdout).close()
        self._lab.ended(self)


def first_lines(programs: Sequence[Program], seconds: float, watched: Sequence[Program] = ()) -> list[str | None]:
    """The next line of each. They are waited for together: at the first end of one, or of one that is only watched,
    the waiting is over, and lines are missing (None). StepFailed when it takes too long.
    """
    until = time.monotonic() + seconds
    lines = {program: program.take_line() for program in programs}
    with selectors.DefaultSelector() as selector:
        for program in (*(one for one in programs if lines[one] is None), *watched):
            selector.register(program.output(), selectors.EVENT_READ, program)
        ended = False
        while None in lines.values() and not ended:
            ready = selector.select(max(0.0, until - time.monotonic()))
            if not ready:
                silent = [f"{one.name}: {one.tail()}" for one in programs if lines[one] is None]
                programs[0].keep_stacks()
                raise StepFailed(f"no answer in time: {'; '.join(silent)}")
            for key, _ in ready:
                ended = not key.data.receive() or ended
                if key.data in lines and (line := key.data.take_line()) is not None:
                    lines[key.data] = line
                    selector.unregister(key.fd)
    return list(lines.values())


def import_path() -> list[str]:
    """What makes jitc (nothing where it is installed, else the carried folder) and this package importable."""
    return [str(PACKAGE.parent)]


def preload() -> str:
    make_importable()
    from jitc.proxy.common import paths

    return str(paths.preload_library())


def make_importable() -> None:
    sys.path[:0] = [one for one in import_path() if one not in sys.path]


def _joined(*paths: str) -> str:
    return os.pathsep.join(path for path in paths if path)


def _file(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream
