"""What is timed: native and proxied blocks in turn, with the figures of the workers beside each ratio."""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass
from typing import Any

from ..jobs import Job, interleaved, start, workers
from ..lab import Lab, StepSlow
from ..service import ALL_BOUNDARIES, NO_VALIDATION, Service
from .with_torch import usable_attention

#: A setting's goal, steps of a timed block, and blocks of each side.
_SETTINGS = {
    "gpu-bound": (1.05, 4, 5), "launch-bound": (1.5, 12, 5), "small": (1.5, 10, 5), "convnet-large": (1.1, 5, 4),
    "convnet-large-bf16": (1.1, 5, 4), "lstm-large": (1.5, 5, 4),
}  # fmt: skip
#: The side whose every step has a boundary.
EVERY = "every boundary"
#: Steps in which the service surely finds out how far apart boundaries are to be, and what it then says.
_SETTLING, SPACED = 60, "boundaries is made"


def one_rank(lab: Lab) -> dict[str, Any]:
    """GPT-2 with 124 M parameters, bf16: the GPU is the limit, then launching is."""
    return _timed(lab, 1, ("gpu-bound", "launch-bound"), every=True)


def two_ranks(lab: Lab) -> dict[str, Any]:
    """The small GPT, data parallel on one GPU."""
    return _timed(lab, 2, ("small",))


def networks_timed(lab: Lab) -> dict[str, Any]:
    """The CNN and the LSTM in sizes that people train."""
    return _timed(lab, 1, ("convnet-large", "convnet-large-bf16", "lstm-large"))


def torch_costs(lab: Lab) -> dict[str, Any]:
    """.item(), and operations whose results nobody looks at."""
    with Service(lab, "--gpus", "1", *NO_VALIDATION) as service:
        sides = {"native": start(lab, "train", 1, None), "proxied": start(lab, "train", 1, service)}
        costs = {side: job.ask(do="item", count=20 if lab.rehearsal else 500)[0] for side, job in sides.items()}
    figures = {
        name.replace("_", " "): f"{costs['native'][name]:.3g} -> {costs['proxied'][name]:.3g}"
        for name in costs["native"]
    }
    return {"costs": costs, "figures": figures}


def _timed(lab: Lab, ranks: int, settings: tuple[str, ...], every: bool = False) -> dict[str, Any]:
    """every: also with a boundary in each step, as far apart as they may be otherwise."""
    lab.note(times={}, workers={}, settled={}, boundaries={})
    with contextlib.ExitStack() as services:
        service = services.enter_context(Service(lab, *workers(lab, ranks), *NO_VALIDATION))
        served: dict[str, Service | None] = {"native": None, "proxied": service}
        if every:
            options = (*workers(lab, ranks), *NO_VALIDATION, *ALL_BOUNDARIES)
            served[EVERY] = services.enter_context(Service(lab, *options))
        sides = {side: start(lab, "train", ranks, one, **usable_attention(lab)) for side, one in served.items()}
        for setting in settings:
            settled = _settle(sides["proxied"], service, setting, 2 if lab.rehearsal else _SETTLING)
            lab.note(settled=lab.data["settled"] | {setting: settled})
            _blocks(lab, sides, served, setting)
    lab.note(figures={"boundaries timed": _counts(lab.data["boundaries"])})
    times = lab.data["times"]
    slow = [f"{name} {one['ratio']:.3f} (goal {one['goal']})" for name, one in times.items() if not one["goal_met"]]
    if slow and not lab.rehearsal:
        raise StepSlow(f"step time against native: {', '.join(slow)}")
    return {}


def _blocks(lab: Lab, sides: dict[str, Job], served: dict[str, Service | None], setting: str) -> None:
    """Of one setting; with the boundaries that were made meanwhile."""
    goal, block, rounds = _SETTINGS[setting]
    if lab.rehearsal:
        block, rounds = 1, 1
    before = _boundaries(served)
    one = interleaved(sides, setting, rounds, block)
    inside = {side: asdict(now.since(before[side])) for side, now in _boundaries(served).items()}
    lab.note(
        times=lab.data["times"] | {setting: one | {"goal": goal, "goal_met": one["ratio"] <= goal}},
        workers=lab.data["workers"] | {setting: _workers(served)},
        boundaries=lab.data["boundaries"] | {setting: inside},
    )


def _workers(served: dict[str, Service | None]) -> dict[str, Any]:
    return {side: service.workers() for side, service in served.items() if service is not None}


@dataclass(frozen=True)
class Boundaries:
    """Those of all ranks of a side, and the seconds of their phases together."""

    count: int
    seconds: dict[str, float]

    def since(self, before: Boundaries) -> Boundaries:
        seconds = {name: value - before.seconds.get(name, 0.0) for name, value in self.seconds.items()}
        return Boundaries(self.count - before.count, seconds)


def _boundaries(served: dict[str, Service | None]) -> dict[str, Boundaries]:
    """So far; what is timed has those between two of these in it."""
    found = {}
    for side, told in _workers(served).items():
        phases = [session["boundary_phases"] for worker in told for session in worker["sessions"]]
        seconds: dict[str, float] = {}
        for name, value in (item for one in phases for item in one["seconds"].items()):
            seconds[name] = seconds.get(name, 0.0) + value
        found[side] = Boundaries(sum(one["boundaries"] for one in phases), seconds)
    return found


def _counts(settings: dict[str, dict[str, Any]]) -> str:
    """By setting, one number per side."""
    return ", ".join(
        f"{name} {'/'.join(str(one['count']) for one in sides.values())}" for name, sides in settings.items()
    )


def _settle(job: Job, service: Service, setting: str, steps: int) -> str:
    """What the service says of the job's boundaries before the first block is timed; nothing: all are made."""
    before = service.said().count(SPACED)
    for _ in range(0, steps, 10):
        job.ask(do="time", setting=setting, steps=min(steps, 10))
        if service.said().count(SPACED) > before:
            break
    return next((line for line in reversed(service.said().splitlines()) if SPACED in line), "")
