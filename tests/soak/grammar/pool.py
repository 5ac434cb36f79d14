"""Runs programs on one service, and makes happen to them what they name.

Called by: campaign.py, tests. Promises: a run ends within its limit; after one that was not good the next has a
service and processes of its own; what a run gives names all that was seen: records of ranks, recoveries, errors.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import grpc
from toolkit.campaign.processes import Lines, send
from toolkit.forge_client import RANKS, Forge
from toolkit.job import PRELOAD, ROOT
from toolkit.kills import arm, kill, sessions
from toolkit.service import Service
from toolkit.workplace import Workplace

from jitc.v1 import control_pb2

from .model import ALL, KILL, Fault, Program

SCRIPT = ROOT / "tests" / "soak" / "grammar" / "script" / "run.py"
GPUS = 3
#: Of one run, which takes seconds where the machine has nothing else to do; for sessions to end after their programs.
LIMIT_SECONDS, END_SECONDS = 240.0, 30.0
LOOK_SECONDS = 0.1
#: A rank that stands still is found while a run may still end.
OPTIONS = ("--hang-seconds", "20", "--spares", "2")
ENDED, FAILED, HUNG = "ended", "failed", "hung"
#: Characters of what failed ranks said.
SHOWN = 3000


@dataclass
class Ran:
    """What one run gave."""

    how: str = ENDED
    records: list[list[dict[str, Any]]] = field(default_factory=list)  # of each rank, of each of its parts
    outcomes: list[str] = field(default_factory=list)  # of recoveries
    causes: list[str] = field(default_factory=list)
    divergences: int = 0
    said: str = ""  # of ranks that failed
    seconds: float = 0.0
    armed: int = 0  # faults that wait in the service: those that did not fire would do so in the next program


class Pool:
    def __init__(self, place: Workplace, options: tuple[str, ...] = ()) -> None:
        self._place, self._options = place, (*OPTIONS, *options)
        self._service: Service | None = None
        self._forge: Forge | None = None
        self.folder = place.folder
        self._runs = 0

    def close(self) -> None:
        if self._forge:
            self._forge.close()
            self._forge = None
        if self._service:
            service, self._service = self._service, None
            try:
                service.stop()
            except AssertionError as error:  # it has been killed; the next run has another one
                self._place.note(str(error))

    def quiet(self, program: Program) -> Ran:
        return self.run(replace(program, faults=()))

    def run(self, program: Program) -> Ran:
        """Once, with the faults that it names."""
        self._runs += 1
        self.folder = self._place.folder / f"run{self._runs}"
        self.folder.mkdir()
        (self.folder / "program.json").write_text(program.text())
        try:
            ran = self._perform(program)
        except (AssertionError, grpc.RpcError) as error:  # the service does not answer, or the forge is gone
            ran = Ran(FAILED, said=str(error))
        self._place.note(f"run {self._runs}, {ran.how}, {ran.outcomes}: {self._command(program)}")
        if ran.how == ENDED:
            shutil.rmtree(self.folder)
        if ran.how != ENDED or ran.armed:
            self.close()
        return ran

    def _perform(self, program: Program) -> Ran:
        if not (self._service and self._forge):
            self._service = self._place.service(GPUS, self._options)
            self._forge = Forge(self._service.env | {"LD_PRELOAD": str(PRELOAD)})
        return _Run(program, self.folder, self._service, self._forge).perform()

    def _command(self, program: Program) -> str:
        """What runs the ranks by themselves, without faults."""
        ranks = [sys.executable, str(RANKS), str(program.ranks)]
        socket = f"JITC_SOCKET={self._service.socket}" if self._service else "JITC_SOCKET="
        settings = [f"LD_PRELOAD={PRELOAD}", socket]
        return shlex.join(["env", *settings, *ranks, str(SCRIPT), str(self.folder / "program.json"), str(self.folder)])


class _Run:
    """One program, from its start to when its sessions have ended."""

    def __init__(self, program: Program, folder: Path, service: Service, forge: Forge) -> None:
        self._program, self._folder, self._service, self._forge = program, folder, service, forge
        self._due: list[tuple[float, Fault]] = []  # kills to come, and when
        self._coming = list(enumerate(program.faults))
        self._armed = 0

    def perform(self) -> Ran:
        before, begun, clock = self._told(), time.monotonic(), time.time()
        status = self._status(begun + LIMIT_SECONDS)
        ran = Ran(seconds=time.monotonic() - begun)
        if status is None:
            ran.how = HUNG
        elif status:
            ran.how, ran.said = FAILED, self._said()
        else:
            files = [self._folder / f"rank{rank}.json" for rank in range(self._program.ranks)]
            ran.records = [json.loads(one.read_text()) for one in files]
        if ran.how != HUNG:
            end = time.monotonic() + END_SECONDS
            while sessions(self._service) and time.monotonic() < end:
                time.sleep(LOOK_SECONDS)
        after = self._told()
        ran.armed = self._armed - (after[2] - before[2])
        # Of the program before a recovery may end only now: it is told of when it is over.
        told = [one for one in after[0][len(before[0]) :] if one["time"] - one["seconds"] > clock]
        ran.outcomes = [str(one["outcome"]) for one in told]
        ran.causes = [str(one["cause"]) for one in told]
        ran.divergences = len(after[1]) - len(before[1])
        return ran

    def _told(self) -> tuple[list[Any], list[Any], int]:
        return self._service.report(), self._service.divergences(), len(self._service.injected())

    def _status(self, deadline: float) -> int | None:
        """Runs the ranks; their exit status. What is to happen happens meanwhile."""
        words = [str(SCRIPT), str(self._folder / "program.json"), str(self._folder)]
        words.append("struck" if self._program.faults else "quiet")
        env = self._service.env | {"LD_PRELOAD": str(PRELOAD)}
        read, write = os.pipe()
        with open(os.devnull, "rb") as nothing, (self._folder / "launcher.log").open("wb") as log:
            descriptors = (nothing.fileno(), write, log.fileno())
            ranks = self._forge.start(words, env, descriptors, ranks=self._program.ranks)
        os.close(write)
        try:
            lines = Lines(read)
            while time.monotonic() < deadline and not lines.ended and ranks.poll() is None:
                self._look(lines)
            return ranks.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return None
        finally:
            send(ranks.pid, signal.SIGKILL)  # with children that they have left
            ranks.wait(END_SECONDS)
            os.close(read)

    def _look(self, lines: Lines) -> None:
        """For a while; kills that are due, and what a rank says."""
        now = time.monotonic()
        for due in [one for one in self._due if one[0] <= now]:
            self._due.remove(due)
            self._kill(due[1].rank)
        soonest = min((at for at, _ in self._due), default=now + LOOK_SECONDS)
        if line := lines.next(max(0.0, min(soonest - now, LOOK_SECONDS))):
            self._reached(*json.loads(line))

    def _reached(self, rank: int, iteration: int) -> None:
        for number, fault in list(self._coming):
            if iteration != fault.iteration or rank not in (fault.rank, 0 if fault.rank == ALL else fault.rank):
                continue
            self._coming.remove((number, fault))
            if fault.what == KILL:
                self._due.append((time.monotonic() + fault.after / 1000, fault))
            else:
                self._arm(fault)
                (self._folder / f"armed.{number}").touch()

    def _arm(self, fault: Fault) -> None:
        asked = control_pb2.Fault(kind=fault.fault, operations=fault.after)
        if fault.phase:
            asked = control_pb2.Fault(kind=fault.fault, phase=fault.phase, skip=fault.after)
        self._armed += arm(self._service, asked, fault.rank)

    def _kill(self, rank: int) -> None:
        victims = [one for one in sessions(self._service) if rank in (ALL, one["rank"])]
        kill([one["worker_pid"] for one in victims if one["worker_pid"]])

    def _said(self) -> str:
        """The last words of each rank; the one that failed first says most."""
        logs = sorted(self._folder.glob("*.log"))
        return "\n".join(
            f"{one.name}: {one.read_text(errors='replace')[-SHOWN:]}" for one in logs if one.stat().st_size
        )
