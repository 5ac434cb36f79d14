"""What the soak runs: training jobs, programs that print what they compute, and commands that test by themselves.

Called by: command.py. Promises: a run starts everything that it needs in the workplace it is given, and ends well or
raises AssertionError with what was wrong; equal seeds make equal choices.
"""

from __future__ import annotations

import contextlib
import os
import random
import shlex
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, Protocol

from toolkit.job import PRELOAD, ROOT, Script
from toolkit.jobs import JOBS
from toolkit.record import assert_identical
from toolkit.service import Service, kill_at
from toolkit.workplace import Workplace

#: Of one program; of a command, which may have to build something; for a command to end what it has started.
LIMIT_SECONDS, COMMAND_SECONDS, END_SECONDS = 600.0, 1800.0, 60.0
PHASES = ("forward", "backward", "optimizer", "boundary", "copy")
FAULTS_SEED = 1_000_003
#: Entries of operator_coverage.py that do not pass, with options or without.
NOT_PASSING = frozenset[int]()


class Program(Protocol):
    """What can be run. reference: whether it has to be run without options first, for the comparison."""

    @property
    def name(self) -> str: ...
    @property
    def reference(self) -> bool: ...
    def run(self, place: Workplace, options: tuple[str, ...], seed: int | None) -> Any:
        """What it gives; seed None: without faults."""

    def compare(self, got: Any, expected: Any) -> None: ...


@dataclass(frozen=True)
class Kills:
    """So many workers, each in a minibatch of its own: after one of these boundaries."""

    count: int
    boundaries: int

    def inject(self, place: Workplace, service: Service, seed: int) -> None:
        source = random.Random(seed * FAULTS_SEED)
        for boundary in source.sample(range(1, self.boundaries), self.count):
            phase, gpu = source.choice(PHASES), source.randrange(service.gpus)
            place.note(f"killed: the worker of GPU {gpu} after boundary {boundary}, in {phase}")
            service.inject(kill_at(boundary, phase), gpu)


NO_KILLS = Kills(0, 1)


def check_report(service: Service, kills: Kills) -> None:
    """Each fault was recovered, and nothing was taken for a fault."""
    if kills.count:
        service.survived(kills.count)
    else:
        assert service.report() == [], f"recoveries without a fault: {service.report()}"


@dataclass(frozen=True)
class TrainingJob:
    """An example script under torchrun; losses, weights and optimizer state are compared to the last bit."""

    name: str
    script: Script
    kills: Kills = NO_KILLS
    reference: bool = True

    def run(self, place: Workplace, options: tuple[str, ...], seed: int | None) -> Any:
        service = place.service(self.script.ranks, options)
        if seed is not None:
            self.kills.inject(place, service, seed)
        records = place.run(self.script, service, LIMIT_SECONDS).records
        check_report(service, self.kills if seed is not None else NO_KILLS)
        return records

    def compare(self, got: Any, expected: Any) -> None:
        assert_identical(got, expected)


@dataclass(frozen=True)
class PrintingProgram:
    """A program on one GPU that prints hashes; the lines are compared."""

    name: str
    file: str
    arguments: tuple[str, ...]
    kills: Kills = NO_KILLS
    reference: bool = True

    def run(self, place: Workplace, options: tuple[str, ...], seed: int | None) -> Any:
        service = place.service(1, options)
        if seed is not None:
            self.kills.inject(place, service, seed)
        command = [sys.executable, str(ROOT / "tests" / "end_to_end" / self.file), *self.arguments]
        place.note(
            f"{shlex.join(service.command)} &\nLD_PRELOAD={PRELOAD} JITC_SOCKET={service.socket} {shlex.join(command)}"
        )
        env = service.env | {"LD_PRELOAD": str(PRELOAD)}
        done = finished(command, env, LIMIT_SECONDS)
        assert done.returncode == 0, f"it ended with {done.returncode}:\n{done.stderr[-3000:]}"
        check_report(service, self.kills if seed is not None else NO_KILLS)
        return done.stdout.splitlines()

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

    def run(self, place: Workplace, options: tuple[str, ...], seed: int | None) -> Any:
        chosen = {"JITC_TEST_SERVICE": shlex.join(options), "JITC_TEST_SHUFFLE": str(seed or 0)}
        command = [sys.executable, *self.words]
        place.note(
            f"{' '.join(f'{name}={shlex.quote(value)}' for name, value in chosen.items())} {shlex.join(command)}"
        )
        done = finished(command, place.env | chosen, COMMAND_SECONDS)
        (place.folder / "output.txt").write_text(done.stdout + done.stderr)
        assert done.returncode == 0, f"it ended with {done.returncode}:\n{(done.stdout + done.stderr)[-3000:]}"

    def compare(self, got: Any, expected: Any) -> None:
        """It has done so."""


def finished(command: list[str], env: dict[str, str], seconds: float) -> subprocess.CompletedProcess[str]:
    """Interrupted when it takes too long or the soak ends, so that it can end what it has started."""
    with subprocess.Popen(
        command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            output, errors = process.communicate(timeout=seconds)
        except BaseException as error:
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=END_SECONDS)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                raise AssertionError(f"it took over {seconds:g} s: {shlex.join(command)}") from None
            raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def selected(name: str, *where: str) -> CheckingCommand:
    return CheckingCommand(
        name, ("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not gpu and not slow", *where)
    )


def operators(first: int, last: int) -> CheckingCommand:
    """PyTorch's samples of some operators. Those that are known to fail are left out."""
    numbers = (str(one) for one in range(first, last) if one not in NOT_PASSING)
    return CheckingCommand(f"operators-{first}", ("tests/operators/operator_coverage.py", *numbers))


_MOE = Script("train_moe.py", ("--steps", "6"))
_TRAINED = {**JOBS, "moe": _MOE}

PROGRAMS: list[Program] = [
    *(TrainingJob(name, script) for name, script in _TRAINED.items()),
    PrintingProgram("promised", "promised_steps.py", ("6",)),
    PrintingProgram("pinned", "pinned_steps.py", ("6",)),
    *(TrainingJob(f"{name}-killed", script, Kills(2, 4)) for name, script in _TRAINED.items()),
    PrintingProgram("promised-killed", "promised_steps.py", ("8",), Kills(3, 7)),
    PrintingProgram("pinned-killed", "pinned_steps.py", ("8",), Kills(3, 7)),
    selected("devices", "tests/unit/device", "tests/unit/software"),
    selected("executor", "tests/unit/executor"),
    selected("peers", "tests/end_to_end/test_peer_mode.py"),
    selected("second-gpu", "tests/end_to_end/test_second_gpu.py"),
    selected("shared-gpu", "tests/end_to_end/test_shared_gpu.py"),
    selected("expandable", "tests/end_to_end/test_expandable_segments.py"),
    selected("joins", "tests/end_to_end/test_joins.py"),
    selected("validation", "tests/end_to_end/test_validation.py"),
    selected("large-state", "tests/end_to_end/test_large_state.py"),
    *(operators(first, first + 84) for first in range(0, 672, 84)),
]  # fmt: skip
