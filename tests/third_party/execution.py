"""One run of a program of the matrix: a service of its own, the program under torchrun, workers killed as it goes.

Promises: the service and the program are gone afterwards; a run leaves its output, the service's log and the command
that repeats it in its folder. A run that was to be struck and was not, or not on every GPU, is wrong.
Called by: matrix.py.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolkit.campaign.processes import Limit, lines, started
from toolkit.job import PRELOAD, ROOT
from toolkit.service import Service, kill_at_op

from .cases import Case
from .counts import Counts, Strike

RUNS = ROOT / "build" / "third-party" / "runs"
PROGRAMS = Path(__file__).parent / "programs"
#: For a launcher to end its ranks, which are in sessions of their own, when the time is over.
END_SECONDS = 10.0


class Wrong(Exception):
    """What went wrong, in a line."""


@dataclass(frozen=True)
class Way:
    """A way of running: on a device or not, options of the service, how often the worker of each GPU is killed."""

    name: str
    options: tuple[str, ...] = ()
    kills: int = 0
    device: str = "cuda"
    environment: tuple[tuple[str, str], ...] = ()  # of the program


@dataclass(frozen=True)
class Run:
    """What the ranks left (outcome.py), by rank; how many ops each GPU had done at each step; the kills of each GPU."""

    ranks: list[dict[str, Any]]
    counts: Counts = field(default_factory=Counts)
    struck: tuple[int, ...] = ()


def execute(case: Case, python: Path, way: Way, limit: float, reference: Run | None = None) -> Run:
    """Raises Wrong when the program fails, is late, or does not meet the faults that it was to meet.

    reference: a run without faults, whose counts say where the workers are killed.
    """
    folder = RUNS / case.name.replace(" ", "-").replace(",", "") / way.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command = [
        str(python), "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(case.ranks),
        *case.launcher, str(PROGRAMS / f"{case.program}.py"), "--out", str(folder), "--device", way.device,
        *case.arguments,
    ]  # fmt: skip
    words = ["jitc", "run", "--device", "software", "--gpus", str(case.devices), *way.options, "--", *command]
    (folder / "command.txt").write_text(shlex.join(command if way.device == "cpu" else words) + "\n")
    given = dict(way.environment) | dict(case.environment_variables)
    counts = Counts()
    struck: tuple[int, ...] = ()
    if way.device == "cpu":
        _run(command, _environment(None) | given, folder, limit)
    else:
        with _service(case, way.options) as service:
            blows = Blows(service, reference.counts.strikes(way.kills) if reference else [])
            try:
                _run(command, _environment(service) | given, folder, limit, blows.step)
            finally:
                shutil.copy(service.log, folder / "proxyd.log")
            struck = blows.check(folder)
            counts = blows.counts
            if races := service.races():
                raise Wrong(f"{len(races)} races, the first: {races[0]}")
    return Run([_outcome(folder / f"rank{rank}.json") for rank in range(case.ranks)], counts, struck)


def _outcome(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise Wrong(f"the program ended without {path.name}")
    outcome: dict[str, Any] = json.loads(path.read_text())
    if not outcome["losses"] or outcome["magnitude"] == 0:
        raise Wrong(f"{path.name} holds no losses or no weights")
    return outcome


def _environment(service: Service | None) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "JITC_SOCKET")}
    kept |= {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    return kept | {"LD_PRELOAD": str(PRELOAD), "JITC_SOCKET": str(service.socket)} if service else kept


@contextlib.contextmanager
def _service(case: Case, options: tuple[str, ...]) -> Any:
    # A short name, since a socket's path may have no more than 107 characters.
    with tempfile.TemporaryDirectory(prefix="jitc-third-") as short:
        service = Service(Path(short), dict(os.environ), gpus=case.devices, options=("--threads", "1", *options))
        try:
            yield service.ready()
        finally:
            service.stop()


def _run(
    command: list[str], environment: dict[str, str], folder: Path, limit: float, step: Callable[[], None] | None = None
) -> None:
    """Runs the program to its end; step is called whenever rank 0 tells of a step."""
    output = folder / "output.txt"
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with output.open("w") as kept, started(command, env=environment, patience=END_SECONDS, **pipes) as process:
        try:
            for line in lines(process, Limit(limit)):
                kept.write(f"{line}\n")
                if step and line.startswith("outcome: step "):
                    step()
        except subprocess.TimeoutExpired:
            raise Wrong(f"not over after {limit:g} s; see {output}") from None
    if process.returncode:
        raise Wrong(f"ended with {process.returncode}; see {output}")


def _replaced(one: dict[str, Any]) -> int:
    """Workers that a recovery has replaced, in all its attempts; at most, since one may have been replaced unused."""
    return sum(span["phase"] == "rebuild" for rank in one["ranks"] if rank["lost"] for span in rank["spans"])


class Blows:
    """Counts ops, and has workers killed where they are told to be; whether that came true."""

    def __init__(self, service: Service, planned: list[list[Strike]]) -> None:
        self.counts = Counts()
        self._service, self._planned, self._armed = service, planned, 0
        self._arm()  # each fault waits for its session

    def step(self) -> None:
        """Rank 0 has told of a step."""
        if self.counts.take(self._service.status()) and len(self.counts.starts) > self._armed:
            self._arm()

    def _arm(self) -> None:
        for strike in self._planned[self._armed] if self._armed < len(self._planned) else []:
            self._service.inject(kill_at_op(strike.sequence), strike.gpu)
        self._armed += 1

    def check(self, folder: Path) -> tuple[int, ...]:
        """How often each GPU's worker was killed."""
        report = self._service.report()
        (folder / "report.json").write_text(json.dumps(report, indent=1))
        planned = Counter(strike.gpu for start in self._planned for strike in start)
        fired = Counter(one["gpu"] for one in self._service.injected())
        if fired != planned:
            raise Wrong(f"kills of GPUs: {dict(fired)} instead of {dict(planned)}; see {folder / 'report.json'}")
        if (replaced := sum(map(_replaced, report))) < planned.total():
            raise Wrong(f"{replaced} workers replaced, {planned.total()} killed; see {folder / 'report.json'}")
        if bad := [one["outcome"] for one in report if not one["outcome"].startswith("recovered")]:
            raise Wrong(f"{bad[0]}; see {folder / 'report.json'}")
        return tuple(planned[gpu] for gpu in range(self._service.gpus)) if planned else ()
