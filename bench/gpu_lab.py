"""Processes of the checks on a GPU: services, programs, time limits, what they said.

Called by: gpu_steps.py, scripts/gpu_check.py. Needs nothing but the standard library and an importable jitc, so that
it runs on a bare machine from a carried folder. Promises: nothing waits longer than the step's limit; every process
of a step is ended with it; what programs and services printed is kept, and lines of jitc's are collected.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
START_SECONDS = 90.0
_HTTP2 = "libnghttp2.so.14"


class StepFailed(Exception):
    """A check did not come out; data is what is known anyway."""

    def __init__(self, message: str, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.data = dict(data or {})


class StepSkipped(Exception):
    """What the step checks is not there; the text says what and why."""


class Lab:
    """Where steps get their processes from."""

    def __init__(self, folder: Path, device: str = "cuda", options: tuple[str, ...] = ()) -> None:
        self.folder, self.device, self._options = folder, device, options
        self.refused: Counter[str] = Counter()
        self.kept: dict[str, Any] = {}  # what later steps need of earlier ones
        self._end = time.monotonic() + 3600
        self._open: list[Program] = []
        self._count = 0

    @property
    def rehearsal(self) -> bool:
        return self.device != "cuda"

    @contextlib.contextmanager
    def step(self, seconds: float) -> Iterator[None]:
        self._end = time.monotonic() + seconds
        try:
            yield
        finally:
            self.close_since(0)

    def left(self, most: float = 3600.0) -> float:
        """Seconds that a wait may take."""
        left = min(most, self._end - time.monotonic())
        if left <= 0:
            raise StepFailed("the step's time is over")
        return left

    def environment(self, **changes: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "JITC_SOCKET")}
        kept["PYTHONPATH"] = os.pathsep.join(filter(None, (*import_path(), kept.get("PYTHONPATH", ""))))
        if not _loads(_HTTP2) and (ROOT / "lib" / _HTTP2).exists():
            kept["LD_LIBRARY_PATH"] = os.pathsep.join(
                filter(None, (str(ROOT / "lib"), kept.get("LD_LIBRARY_PATH", "")))
            )
        return kept | {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"} | changes

    def program(self, *words: str, service: Service | None = None, **environ: str) -> Program:
        """python WORDS, with the interposer preloaded where there is a service."""
        told = self.environment(**environ)
        if service is not None:
            told |= {"JITC_SOCKET": service.socket, "LD_PRELOAD": preload()}
        return self._start([sys.executable, *words], told)

    def service(self, *options: str) -> Service:
        """A jitc-proxyd of its own, ready. Ended with the step, or by close()."""
        return Service(self, (*self._options, *options))

    def _start(self, command: list[str], environ: Mapping[str, str]) -> Program:
        self._count += 1
        program = Program(self, command, environ, self.folder / f"{self._count:02}.log")
        self._open.append(program)
        return program

    def close_since(self, count: int) -> None:
        """Ends the programs after the first count, newest first; without patience once the time is over."""
        while len(self._open) > count:
            self._open[-1].close(5.0 if time.monotonic() < self._end else 0.0)

    def place(self, program: Program) -> int:
        return self._open.index(program)

    def ended(self, program: Program) -> None:
        self._open = [one for one in self._open if one is not program]
        lines = program.said().splitlines()
        self.refused.update(line.strip() for line in lines if line.startswith("jitc:"))


class Program:
    """A child with a line of JSON at a time; standard error goes to a file."""

    def __init__(self, lab: Lab, command: list[str], environ: Mapping[str, str], log: Path) -> None:
        self._lab, self._log = lab, log
        with log.open("wb") as errors:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=dict(environ),
                start_new_session=True,
            )  # fmt: skip
        self._selector = selectors.DefaultSelector()
        self._selector.register(_file(self.process.stdout), selectors.EVENT_READ)
        self._buffer = b""
        self.greeting: dict[str, Any] = {}  # what it said when it was ready
        self.closed = False

    def line(self, seconds: float = 3600.0) -> str | None:
        """The next line; None at the end. StepFailed when it takes too long."""
        until = time.monotonic() + self._lab.left(seconds)
        while b"\n" not in self._buffer:
            if not self._selector.select(max(0.0, until - time.monotonic())):
                raise StepFailed(f"no answer in time: {self.tail()}")
            data = os.read(_file(self.process.stdout).fileno(), 1 << 16)
            if not data:
                return None
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode(errors="replace")

    def answer(self, seconds: float = 3600.0) -> dict[str, Any]:
        line = self.line(seconds)
        if line is None:
            self.process.wait(10)
            raise StepFailed(f"the program ended with {self.process.returncode}: {self.tail()}")
        document: dict[str, Any] = json.loads(line)
        return document

    def tell(self, **request: Any) -> None:
        stdin = _file(self.process.stdin)
        with contextlib.suppress(BrokenPipeError):
            stdin.write(json.dumps(request).encode() + b"\n")
            stdin.flush()

    def ask(self, **request: Any) -> dict[str, Any]:
        self.tell(**request)
        return self.answer()

    def said(self) -> str:
        return self._log.read_text(errors="replace")

    def tail(self) -> str:
        """The last lines that it printed as errors."""
        return " | ".join(line for line in self.said().splitlines()[-6:] if line.strip())[-1200:]

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
        self._selector.close()
        _file(self.process.stdout).close()
        self._lab.ended(self)


class Service:
    """A private jitc-proxyd."""

    def __init__(self, lab: Lab, options: tuple[str, ...]) -> None:
        self._lab = lab
        self._folder = tempfile.TemporaryDirectory(prefix="jitc-", dir="/tmp")
        self.socket = f"{self._folder.name}/s"
        command = [sys.executable, "-m", "jitc.proxy.proxyd", "--socket", self.socket, "--device", lab.device]
        self._program = lab._start([*command, *options], lab.environment())
        line = self._program.line(START_SECONDS)
        if line is None or not line.startswith("jitc-proxyd ready"):
            raise StepFailed(f"jitc-proxyd did not start: {self._program.tail()}")

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def command(self, *words: str, seconds: float = 30.0) -> str:
        """`jitc WORDS` on this service; its output."""
        told = self._lab.environment() | {"JITC_SOCKET": self.socket}
        done = subprocess.run(
            [sys.executable, "-m", "jitc.proxy.cli", *words], env=told, capture_output=True, text=True,
            timeout=self._lab.left(seconds), check=False,
        )  # fmt: skip
        if done.returncode:
            raise StepFailed((done.stderr or done.stdout).strip())
        return done.stdout

    def recoveries(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.command("report", "--json"))["recoveries"]
        return found

    def boundary(self, gpu: int) -> int:
        """The newest one of the GPU's first session."""
        return int(json.loads(self.command("status", "--json"))["gpus"][gpu]["sessions"][0]["boundary"])

    def said(self) -> str:
        return self._program.said()

    def close(self) -> None:
        if self._program.closed:
            return
        self._lab.close_since(self._lab.place(self._program) + 1)  # who uses it
        self._program.process.send_signal(signal.SIGTERM)
        self._program.close(20.0)
        self._folder.cleanup()


def import_path() -> list[str]:
    """What makes `jitc` importable: nothing where it is installed, else the carried folder."""
    return [str(ROOT)] if (ROOT / "jitc").is_dir() else []


def preload() -> str:
    sys.path[:0] = [one for one in import_path() if one not in sys.path]
    from jitc.proxy import paths

    return str(paths.preload_library())


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _file(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream
