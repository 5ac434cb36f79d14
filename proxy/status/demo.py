"""`jitc demo --json FILE`: the result of the demonstration. Called by: commands/demo; schema.py and tables.py."""

from __future__ import annotations

from dataclasses import dataclass

from .model import BYTES, SECONDS, says


@dataclass(frozen=True, kw_only=True)
class DemoRecovery:
    """A recovery, as in the report."""

    cause: str = says("the detected fault")
    decision: str = says("`roll-back`, `roll-forward` or `none`")
    gpu: int | None = says("GPU on which the fault was noticed")
    seconds: float = says("total duration, the sum of `phases`", SECONDS)
    phases: dict[str, float] = says("duration of each phase", SECONDS)
    bytes_restored: int = says("device memory that was restored", BYTES)


@dataclass(frozen=True, kw_only=True)
class Demo:
    """The document of `jitc demo --json FILE`."""

    identical: bool = says("losses, weights and optimizer state of all trainings are the same, bit by bit")
    faults_injected: int = says("number of trainings with a fault")
    faults_recovered: int = says("number of these with one recovery")
    steps: int = says("optimizer steps of each training")
    recoveries: list[DemoRecovery] = says("recoveries, in the order of the trainings")
