"""One run of one case: started, a process or a worker killed, waited for, ended.

Promises: nothing that was started is left, and none is tried again. Called by: __main__.py.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import LIBRARIES, ROOT

from .cases import EVERYWHERE, LIGHTHOUSE, RANKS, Case
from .log import Seen, read

if TYPE_CHECKING:
    from toolkit.workplace import Workplace

PROGRAMS = ROOT / "bench" / "peers" / "programs"
#: Of one run, until its fault and after it.
SECONDS = 90.0
#: A launcher's, when its ranks have done their work.
LAST_SECONDS = 3.0
Processes = list[subprocess.Popen[bytes]]
Begin = Callable[[list[str], dict[str, str], str], object]


@dataclass(frozen=True)
class Ran:
    seen: Seen
    output: str
    killed: tuple[float, int] | None  # when, and the rank's process (0: it was a worker); None: nothing was


def run(place: Workplace, case: Case, name: str, *, steps: int, every: int, kill_at: int | None) -> Ran:
    """name: of its folder. kill_at: the step of rank 1 after which the fault happens."""
    out = place.folder / name
    out.mkdir()
    env = {**place.env, **EVERYWHERE, **(case.env or {})}
    service = None
    if case.service is not None:
        service = place.service(RANKS, case.service)
        env |= {"LD_PRELOAD": str(LIBRARIES / "libjitc_interpose.so"), "JITC_SOCKET": str(service.socket)}
    given = ("--steps", steps, "--every", case.every or every, "--out", out)
    killed, memory = None, shared_memory()
    try:
        with started(case, [f"{PROGRAMS / case.program}.py", *map(str, given)], env, out) as jobs:
            if kill_at is not None:
                worker = service.worker_pid(1) if service and case.worker else None
                killed = lose(out, kill_at, worker, jobs)
            wait(jobs, out)
    finally:
        if service:
            service.stop()
        for one in shared_memory() - memory:
            one.unlink(missing_ok=True)
    return Ran(read(log_of(out)), (out / "output").read_text(errors="replace"), killed)


@contextlib.contextmanager
def started(case: Case, program: list[str], env: dict[str, str], out: Path) -> Iterator[Processes]:
    """The launchers. All has ended when the block is left."""
    from third_party.environments import python_of
    from toolkit.campaign import processes

    python = python_of(case.environment)
    first, *words = [*case.launcher, *program]
    command = [str(python.parents[1] / first) if first.startswith("bin/") else str(python), *words]
    if not first.startswith("bin/"):
        command.insert(1, first)
    with contextlib.ExitStack() as all_of_them:

        def begin(command: list[str], env: dict[str, str], output: str) -> subprocess.Popen[bytes]:
            file = all_of_them.enter_context((out / output).open("ab"))
            pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": file, "stderr": file}
            return all_of_them.enter_context(
                processes.started(command, patience=LAST_SECONDS, env=env, cwd=out, **pipes)
            )

        yield [begin(command, {**env, **own}, "output") for own in surroundings(case, python, env, begin)]


def surroundings(case: Case, python: Path, env: dict[str, str], begin: Begin) -> list[dict[str, str]]:
    """What each launcher finds in its environment; what they need besides is started."""
    if case.each == "job":
        return [{}]
    from toolkit.ranks import free_port

    port = str(free_port())
    if case.each == "rank":
        processes = RANKS + case.reserve
        job = {"MASTER_ADDR": "localhost", "MASTER_PORT": port, "WORLD_SIZE": str(processes)}
        return [{**job, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(processes)]
    begin([str(python.parent / "torchft_lighthouse"), "--bind", f"[::]:{port}", *LIGHTHOUSE], env, "lighthouse")
    lighthouse = {"TORCHFT_LIGHTHOUSE": f"http://localhost:{port}"}
    return [{**lighthouse, "REPLICA_GROUP": str(group)} for group in range(RANKS)]


def lose(out: Path, step: int, worker: int | None, jobs: Processes) -> tuple[float, int] | None:
    """Kills the worker, or without one the process of rank 1, once that rank has done the step."""
    reached = re.compile(rf"^\S+ 1 (\d+) step {step} ", re.MULTILINE)
    until = time.monotonic() + SECONDS
    while time.monotonic() < until and any(one.poll() is None for one in jobs):
        if found := reached.search(log_of(out)):
            victim = int(found[1])
            when = time.time()
            os.kill(worker or victim, signal.SIGKILL)
            return when, 0 if worker else victim
        time.sleep(0.005)
    return None


def wait(jobs: Processes, out: Path) -> None:
    """For their ends; not for long once every rank has done its work."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until and any(one.poll() is None for one in jobs):
        if len(re.findall(r" done ", log_of(out))) >= RANKS:
            until = min(until, time.monotonic() + LAST_SECONDS)
        time.sleep(0.05)


def shared_memory() -> set[Path]:
    """DLRover's checkpoints, which stay when its launcher is ended before it has ended by itself."""
    return set(Path("/dev/shm").glob("standalone_*_ckpt_shm_*"))


def log_of(out: Path) -> str:
    log = out / "log"
    return log.read_text() if log.exists() else ""
