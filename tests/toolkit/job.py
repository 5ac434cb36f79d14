"""A training job of several ranks, through a service or on cpu/gloo."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

from .forge_client import RANKS, Forged, forge_for
from .record import Record, read_records
from .service import BIN
from .waiting import patient

ROOT = Path(__file__).resolve().parent.parent.parent
PRELOAD = ROOT / "interpose" / "lib" / "libjitc_interpose.so"


@dataclass(frozen=True)
class Script:
    """One of the example scripts with its arguments."""

    name: str
    arguments: tuple[str, ...] = ()
    ranks: int = 2
    around: tuple[str, ...] = ()  # a Python program that runs it, from the checkout's top folder

    def with_arguments(self, *more: str) -> Script:
        return replace(self, arguments=(*self.arguments, *more))


@dataclass
class Result:
    status: int
    output: str
    records: list[Record] = field(default_factory=list)

    def successful(self) -> Result:
        assert self.status == 0, f"the job ended with {self.status}:\n{self.output[-6000:]}"
        return self


class Job:
    """Started at once; finish() waits for the end. env holds JITC_SOCKET for a job on the service; before: words before
    its command (sandbox.py)."""

    def __init__(
        self, script: Script, folder: Path, env: dict[str, str], device: str = "cuda", before: tuple[str, ...] = ()
    ) -> None:
        self.script, self.folder = script, folder
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "job.log"
        self.env = dict(env)
        if device == "cuda":
            self.env["LD_PRELOAD"] = str(PRELOAD)
        launcher = [*before, sys.executable, str(RANKS), str(script.ranks)]
        record = ["--json", str(folder / "record.json")]
        around = [str(ROOT / one) for one in script.around]
        program = [*around, str(ROOT / "examples" / script.name), "--device", device, *script.arguments, *record]
        self.command = [*launcher, *program]
        self.process = self._start(program, forged=not before)

    def _start(self, program: list[str], *, forged: bool) -> subprocess.Popen[bytes] | Forged:
        """forged: ranks need not be started by themselves."""
        with self.log.open("wb") as log, open(os.devnull, "rb") as nothing:
            if forged and (forge := forge_for(self.env)):
                output = log.fileno()
                return forge.start(program, self.env, (nothing.fileno(), output, output), ranks=self.script.ranks)
            return subprocess.Popen(
                self.command, stdin=nothing, stdout=log, stderr=subprocess.STDOUT, env=self.env, start_new_session=True
            )

    def finish(self, seconds: float = 150.0) -> Result:
        """Waits; ends the whole job and fails when it takes longer."""
        try:
            status = self.process.wait(patient(seconds))
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the job took over {patient(seconds):g} s:\n{self.output()[-6000:]}") from None
        return Result(status, self.output(), read_records(self.folder))

    def kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()

    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def steps(self) -> int:
        """Steps whose line rank 0 has printed."""
        return sum(line.startswith("step ") for line in self.output().splitlines())

    def seconds(self) -> list[float]:
        """Of every step, as rank 0 saw them, once it has ended."""
        return list(json.loads((self.folder / "record.rank0.json").read_text())["seconds"])

    def replay_command(self, service: list[str] | None) -> str:
        """What to type to see the same again."""
        lines = []
        names = ("LD_PRELOAD", "JITC_SOCKET", "OMP_NUM_THREADS")
        settings = [f"{name}={self.env[name]}" for name in names if name in self.env]
        if service is not None:
            lines.append(shlex.join(service) + " &")
        lines.append(shlex.join(["env", *settings, *self.command]))
        return "\n".join(lines)


def base_environment(mark: dict[str, str]) -> dict[str, str]:
    """The tests' own environment without what would leak into a job."""
    ranks, tests = ("RANK", "WORLD_SIZE", "LOCAL_RANK"), ("PYTEST_CURRENT_TEST",)
    drop = ("LD_PRELOAD", "JITC_SOCKET", "CUDA_VISIBLE_DEVICES", *ranks, *tests)
    env = {name: value for name, value in os.environ.items() if name not in drop}
    path = f"{BIN}:{env.get('PATH', '')}"
    return {**env, **mark, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", "PATH": path, "PYTHON": sys.executable}


def run_command(
    command: list[str], env: dict[str, str] | None = None, timeout: float = 60
) -> subprocess.CompletedProcess[str]:
    """Runs a command in the checkout, to its end, whatever its exit status."""
    return subprocess.run(
        command, check=False, cwd=ROOT, env=env, capture_output=True, text=True, timeout=patient(timeout)
    )
