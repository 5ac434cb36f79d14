"""One run of a program of the matrix: a service of its own, the program under torchrun, workers killed as it goes.

Promises: the service and the program are gone afterwards; a run leaves its output, the service's log and the command
that repeats it in its folder. A run that was to be struck and was not is wrong.
Called by: matrix.py.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolkit.service import Service

from .cases import Case
from .environments import ROOT

RUNS = ROOT / "build" / "third-party" / "runs"
PROGRAMS = Path(__file__).parent / "programs"
PRELOAD = ROOT / "interpose" / "lib" / "libjitc_interpose.so"
#: Steps after which a worker is killed, first of rank 0, then of the next.
STRUCK_AFTER = (3, 6, 9)


class Wrong(Exception):
    """What went wrong, in a line."""


@dataclass(frozen=True)
class Way:
    """A way of running: on a device or not, options of the service, workers to kill."""

    name: str
    options: tuple[str, ...] = ()
    kills: int = 0
    device: str = "cuda"
    environment: tuple[tuple[str, str], ...] = ()  # of the program


@dataclass(frozen=True)
class Run:
    """What the ranks left (outcome.py), by rank."""

    ranks: list[dict[str, Any]]


def execute(case: Case, python: Path, way: Way, limit: float) -> Run:
    """Raises Wrong when the program fails, is late, or does not meet the faults that it was to meet."""
    folder = RUNS / case.name.replace(" ", "-").replace(",", "") / way.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command = [
        str(python), "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(case.ranks),
        str(PROGRAMS / f"{case.program}.py"), "--out", str(folder), "--device", way.device,
        *case.arguments,
    ]  # fmt: skip
    words = ["jitc", "run", "--device", "software", "--gpus", str(case.ranks), *way.options, "--", *command]
    (folder / "command.txt").write_text(shlex.join(command if way.device == "cpu" else words) + "\n")
    if way.device == "cpu":
        _run(command, folder, limit, None, way)
    else:
        with _service(case, way.options) as service:
            _run(command, folder, limit, service, way)
            _struck(service, way.kills, folder)
            if races := service.races():
                raise Wrong(f"{len(races)} races, the first: {races[0]}")
    return Run([_outcome(folder / f"rank{rank}.json") for rank in range(case.ranks)])


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
        service = Service(Path(short), dict(os.environ), gpus=case.ranks, options=("--threads", "1", *options))
        try:
            yield service.ready()
        finally:
            service.stop()


def _run(command: list[str], folder: Path, limit: float, service: Service | None, way: Way) -> None:
    """Runs the program to its end; reads its steps as they come, and kills workers after those of STRUCK_AFTER."""
    with (folder / "output.txt").open("w") as kept:
        process = subprocess.Popen(
            command, env=_environment(service) | dict(way.environment), stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
        late = threading.Timer(limit, os.killpg, (process.pid, signal.SIGKILL))
        late.start()
        try:
            assert process.stdout is not None
            for line in process.stdout:
                kept.write(line)
                if service is not None and line.startswith("outcome: step "):
                    _strike(service, int(line.split()[2]), way.kills)
            status = process.wait()
        finally:
            timed_out = not late.is_alive()
            late.cancel()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    if service is not None:
        shutil.copy(service.log, folder / "proxyd.log")
    if timed_out:
        raise Wrong(f"not over after {limit:g} s; see {folder / 'output.txt'}")
    if status:
        raise Wrong(f"ended with {status}; see {folder / 'output.txt'}")


def _strike(service: Service, step: int, kills: int) -> None:
    if step not in STRUCK_AFTER[:kills]:
        return
    pid = service.worker_pid(STRUCK_AFTER.index(step) % service.gpus)
    if pid is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _struck(service: Service, kills: int, folder: Path) -> None:
    report = service.report()
    (folder / "report.json").write_text(json.dumps(report, indent=1))
    recovered = sum(one["attempts"] for one in report)
    if recovered != kills:
        raise Wrong(f"{recovered} recoveries instead of {kills}; see {folder / 'report.json'}")
