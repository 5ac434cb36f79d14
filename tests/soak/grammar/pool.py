"""Runs programs on one service, and makes happen to them what they name.

Called by: campaign.py, tests. Promises: a run ends within its limit; after one that was not good the next has a
service and processes of its own; what a run gives names all that was seen: records of ranks, recoveries, errors.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import grpc
from toolkit.job import PRELOAD, ROOT
from toolkit.service import Service
from toolkit.workplace import Workplace

from jitc.v1 import control_pb2

from .forge_client import Forge
from .model import ALL, KILL, Fault, Program

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
            self._forge.end()
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
            self._forge = Forge(self._service)
        return _Run(program, self.folder, self._service, self._forge).perform()

    def _command(self, program: Program) -> str:
        """What runs the ranks by themselves, without faults."""
        script = ROOT / "tests" / "soak" / "grammar" / "script" / "run.py"
        ranks = [sys.executable, str(ROOT / "tests/toolkit/ranks.py"), str(program.ranks)]
        socket = f"JITC_SOCKET={self._service.socket}" if self._service else "JITC_SOCKET="
        settings = [f"LD_PRELOAD={PRELOAD}", socket]
        return shlex.join(["env", *settings, *ranks, str(script), str(self.folder / "program.json"), str(self.folder)])


class _Run:
    """One program, from its start to when its sessions have ended."""

    def __init__(self, program: Program, folder: Path, service: Service, forge: Forge) -> None:
        self._program, self._folder, self._service, self._forge = program, folder, service, forge
        self._pids: list[int] = []
        self._due: list[tuple[float, Fault]] = []  # kills to come, and when
        self._coming = list(enumerate(program.faults))
        self._armed = 0

    def perform(self) -> Ran:
        before, begun, clock = self._told(), time.monotonic(), time.time()
        program = str(self._folder / "program.json")
        faults = bool(self._program.faults)
        self._forge.ask(program=program, folder=str(self._folder), ranks=self._program.ranks, faults=faults)
        statuses = self._statuses(begun + LIMIT_SECONDS)
        ran = Ran(seconds=time.monotonic() - begun)
        if statuses is None:
            ran.how = HUNG
        elif any(statuses):
            ran.how, ran.said = FAILED, self._said()
        else:
            files = [self._folder / f"rank{rank}.json" for rank in range(self._program.ranks)]
            ran.records = [json.loads(one.read_text()) for one in files]
        if ran.how != HUNG:
            end = time.monotonic() + END_SECONDS
            while self._sessions() and time.monotonic() < end:
                self._forge.line(LOOK_SECONDS)  # it says nothing now
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

    def _sessions(self) -> list[dict[str, Any]]:
        return [one for gpu in self._service.status()["gpus"] for one in gpu["sessions"]]

    def _statuses(self, deadline: float) -> list[int] | None:
        """The exit statuses of the ranks; what is to happen happens meanwhile."""
        while (now := time.monotonic()) < deadline:
            for due in [one for one in self._due if one[0] <= now]:
                self._due.remove(due)
                self._kill(due[1].rank)
            soonest = min((at for at, _ in self._due), default=deadline)
            said = self._forge.line(max(0.0, min(soonest, deadline) - time.monotonic()))
            if not said:
                continue
            self._pids = said.get("started", self._pids)
            if "at" in said:
                self._reached(*said["at"])
            elif "ended" in said:
                statuses: list[int] = said["ended"]
                return statuses
        return None

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
        try:
            self._service.inject(asked, fault.rank)
            self._armed += 1
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.FAILED_PRECONDITION:  # its worker is being replaced just now
                raise

    def _kill(self, rank: int) -> None:
        victims = self._pids if rank == ALL else self._pids[rank : rank + 1]
        for one in self._sessions():
            if one["pid"] in victims and one["worker_pid"]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(one["worker_pid"], signal.SIGKILL)

    def _said(self) -> str:
        """The last words of each rank; the one that failed first says most."""
        logs = sorted(self._folder.glob("rank*.log"))
        return "\n".join(
            f"{one.name}: {one.read_text(errors='replace')[-SHOWN:]}" for one in logs if one.stat().st_size
        )
