"""The programs of the soak: examples, programs on streams and pinned memory, tests, operators, third-party programs.

Called by: command.py. What is quick comes first, so that a short soak has a bit of everything.
"""

from __future__ import annotations

from toolkit.job import Script
from toolkit.jobs import JOBS

from . import third_party
from .chaos import ChaosJob
from .generated import GeneratedPrograms
from .programs import WITHOUT_BACKWARD, CheckingCommand, Kills, PrintingProgram, Program, TrainingJob

#: What PyTorch 2.11 lists, and how many of them one run takes.
OPERATORS, SHARE = 743, 50
_TRAINED = {**JOBS, "moe": Script("train_moe.py", ("--steps", "6"))}
_HERE = "tests/end_to_end"


def _selected(name: str, *where: str) -> CheckingCommand:
    return CheckingCommand(
        name, ("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not gpu and not slow", *where)
    )


def _operators(first: int) -> PrintingProgram:
    """PyTorch's samples of some operators, and what came of each: the same as plainly."""
    entries = map(str, range(first, min(first + SHARE, OPERATORS)))
    return PrintingProgram(f"operators-{first}", ("tests/operators/operator_shard.py", "--samples", "4", *entries))


def programs() -> list[Program]:
    return [
        PrintingProgram("lanes", (f"{_HERE}/lane_steps.py", "6")),
        PrintingProgram("pinned", (f"{_HERE}/pinned_steps.py", "6")),
        PrintingProgram("events", (f"{_HERE}/event_steps.py", "100")),
        *(TrainingJob(name, script) for name, script in _TRAINED.items()),
        PrintingProgram("lanes-killed", (f"{_HERE}/lane_steps.py", "8"), Kills(3, 7, WITHOUT_BACKWARD)),
        PrintingProgram("pinned-killed", (f"{_HERE}/pinned_steps.py", "8"), Kills(3, 7, WITHOUT_BACKWARD)),
        *(TrainingJob(f"{name}-killed", script, Kills(2, 4)) for name, script in _TRAINED.items()),
        GeneratedPrograms(),
        *(ChaosJob(f"chaos-{name}", script) for name, script in JOBS.items()),
        _selected("promises", f"{_HERE}/test_promises.py"),
        _selected("devices", "tests/unit/device/test_conformance.py", "tests/unit/device/software"),
        _selected("executor", "tests/unit/executor"),
        _selected("peers", f"{_HERE}/test_peer_mode.py"),
        _selected("second-gpu", f"{_HERE}/test_second_gpu.py"),
        _selected("shared-gpu", f"{_HERE}/test_shared_gpu.py"),
        _selected("expandable", f"{_HERE}/test_expandable_segments.py"),
        _selected("joins", f"{_HERE}/test_joins.py"),
        _selected("validation", f"{_HERE}/test_validation.py"),
        _selected("large-state", f"{_HERE}/test_large_state.py"),
        *third_party.programs(),
        *(_operators(first) for first in range(0, OPERATORS, SHARE)),
    ]
