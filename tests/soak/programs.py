"""What a program of the soak is: how it runs under a way, and how what it gives is compared.

Called by: command.py, catalogue.py. Promises: a run starts everything that it needs in the workplace it is given, and
ends well or raises with what was wrong; equal seeds make equal choices.
"""

from __future__ import annotations

import random
import shlex
import signal
import sys
from dataclasses import dataclass
from typing import Any, Protocol

from toolkit.campaign.processes import finished
from toolkit.job import PRELOAD, ROOT, Script
from toolkit.record import assert_identical
from toolkit.service import Service, kill_at
from toolkit.workplace import Workplace

from .ways import Way

#: Of one program; of a command, which may have to build something; for a command to end what it has started.
LIMIT_SECONDS, COMMAND_SECONDS, END_SECONDS = 600.0, 1800.0, 60.0
PHASES = ("forward", "backward", "optimizer", "boundary", "copy")
WITHOUT_BACKWARD = tuple(one for one in PHASES if one != "backward")
FAULTS_SEED = 1_000_003


class Program(Protocol):
    """What can be run. reference: whether it has to be run plainly first, for the comparison."""

    @property
    def name(self) -> str: ...
    @property
    def reference(self) -> bool: ...
    def run(self, place: Workplace, way: Way, seed: int | None) -> Any:
        """What it gives; seed None: plainly, without faults."""

    def compare(self, got: Any, expected: Any) -> None: ...


@dataclass(frozen=True)
class Kills:
    """So many workers, each in a minibatch of its own: after one of these boundaries."""

    count: int
    boundaries: int
    phases: tuple[str, ...] = PHASES  # that the program has: a kill in another one never happens

    def inject(self, place: Workplace, service: Service, seed: int) -> None:
        source = random.Random(seed * FAULTS_SEED)
        for boundary in source.sample(range(1, self.boundaries), self.count):
            phase, gpu = source.choice(self.phases), source.randrange(service.gpus)
            place.note(f"killed: the worker of GPU {gpu} after boundary {boundary}, in {phase}")
            service.inject(kill_at(boundary, phase), gpu)


NO_KILLS = Kills(0, 1)


def start(place: Workplace, way: Way, seed: int | None, gpus: int, kills: Kills) -> Service:
    """A service for one run, with its faults."""
    service = place.service(gpus, way.with_seed(seed or 0), **dict(way.environment))
    if seed is not None:
        kills.inject(place, service, seed)
    return service


def check(service: Service, kills: Kills) -> None:
    """Each fault was recovered, nothing was taken for a fault, and no race was found."""
    if kills.count:
        service.survived(kills.count)
    else:
        assert service.report() == [], f"recoveries without a fault: {service.report()}"
    races = service.races()
    assert races == [], f"{len(races)} races, the first: {races[0]}"


@dataclass(frozen=True)
class TrainingJob:
    """An example script under torchrun; losses, weights and optimizer state are compared to the last bit."""

    name: str
    script: Script
    kills: Kills = NO_KILLS
    reference: bool = True

    def run(self, place: Workplace, way: Way, seed: int | None) -> Any:
        service = start(place, way, seed, self.script.ranks, self.kills)
        records = place.run(self.script, service, LIMIT_SECONDS).records
        check(service, self.kills if seed is not None else NO_KILLS)
        return records

    def compare(self, got: Any, expected: Any) -> None:
        assert_identical(got, expected)


@dataclass(frozen=True)
class PrintingProgram:
    """A program on one GPU; the lines that it prints are compared."""

    name: str
    words: tuple[str, ...]  # of its command, after Python; from the checkout's top folder
    kills: Kills = NO_KILLS
    reference: bool = True

    def run(self, place: Workplace, way: Way, seed: int | None) -> Any:
        service = start(place, way, seed, 1, self.kills)
        command = [sys.executable, *self.words]
        place.note(
            f"{shlex.join(service.command)} &\nLD_PRELOAD={PRELOAD} JITC_SOCKET={service.socket} {shlex.join(command)}"
        )
        said = printed(place, command, service.env | {"LD_PRELOAD": str(PRELOAD)}, LIMIT_SECONDS)
        check(service, self.kills if seed is not None else NO_KILLS)
        return said.splitlines()

    def compare(self, got: Any, expected: Any) -> None:
        pairs = zip(got, expected, strict=False)
        differing = next((number for number, (a, b) in enumerate(pairs, 1) if a != b), None)
        assert differing is None, (
            f"line {differing} differs: {got[differing - 1]!r} against {expected[differing - 1]!r}"
        )
        assert len(got) == len(expected), f"{len(got)} lines instead of {len(expected)}"


@dataclass(frozen=True)
class CheckingCommand:
    """A command that compares by itself, and whose services take the options from JITC_TEST_SERVICE."""

    name: str
    words: tuple[str, ...]
    reference: bool = False

    def run(self, place: Workplace, way: Way, seed: int | None) -> Any:
        chosen = {"JITC_TEST_SERVICE": shlex.join(way.with_seed(seed or 0))} | dict(way.environment)
        chosen |= {"JITC_TEST_SHUFFLE": str(seed or 0)} if "--shuffle" in way.options else {}
        command = [sys.executable, *self.words]
        settings = " ".join(f"{name}={shlex.quote(value)}" for name, value in chosen.items())
        place.note(f"{settings} {shlex.join(command)}")
        printed(place, command, place.env | chosen, COMMAND_SECONDS)

    def compare(self, got: Any, expected: Any) -> None:
        """It has done so."""


def printed(place: Workplace, command: list[str], env: dict[str, str], seconds: float) -> str:
    """It is interrupted when it takes too long or the soak ends, so that it can end what it has started."""
    done = finished(command, seconds, patience=END_SECONDS, ask=signal.SIGINT, cwd=ROOT, env=env)
    (place.folder / "output.txt").write_text(done.stdout + done.stderr)
    assert done.returncode == 0, f"it ended with {done.returncode}:\n{(done.stdout + done.stderr)[-3000:]}"
    return done.stdout
