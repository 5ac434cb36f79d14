"""A model of a size that people train: timed beside its native run, then its worker is killed."""

from __future__ import annotations

import statistics
from typing import Any

from ..jobs import Answers, compare, start
from ..lab import Lab, StepFailed
from ..service import NO_VALIDATION, Service
from . import fault_verdict
from .timing import SPACED
from .with_torch import usable_attention

_WARMING, _STRUCK = 3, 8
#: Steps in which the service finds out how far apart boundaries are to be; and those that are timed.
_SETTLING, _TIMED = 24, 48


def large_model(lab: Lab) -> dict[str, Any]:
    """GPT-2 XL, 1.6 billion parameters (25 GB of state), bf16; kill -9 of its worker in a backward pass."""
    with Service(lab, "--gpus", "1", *NO_VALIDATION) as service:
        sides = {"native": start(lab, "train", 1, None, **usable_attention(lab))}
        sides["proxied"] = start(lab, "train", 1, service, **usable_attention(lab))
        both = list(sides.values())
        for job in both:
            job.tell(do="train", setting="large", steps=_WARMING)
        native, proxied = ([job.answers()] for job in both)
        for job in both:
            job.ask(do="more", steps=_SETTLING, digest=False)
        for side, answers in (("native", native), ("proxied", proxied)):  # in turn: they are timed
            answers.append(sides[side].ask(do="more", steps=_TIMED, digest=False))
        lab.note(times={"large": _times(native[-1], proxied[-1])}, workers=service.workers())
        service.inject("kill-worker", "phase=backward,skip=20")
        for job in both:
            job.tell(do="more", steps=_STRUCK)
        for job, answers in zip(both, (native, proxied), strict=True):
            answers.append(job.answers())
        recoveries = service.recoveries()
    lab.note(recoveries=recoveries, seconds_of_steps=[one[0]["seconds"] for one in proxied])
    lab.note(settled=[line for line in service.said().splitlines() if SPACED in line])
    found = [compare(lab, "large", *pair) for pair in zip(native, proxied, strict=True)]
    lab.note(identity="; ".join(sorted({one.text() for one in found})))
    wrong = "; ".join(filter(None, (one.wrong() for one in found)))
    if why := fault_verdict(recoveries, "" if lab.rehearsal else wrong):
        raise StepFailed(why)
    return {}


def _times(native: Answers, proxied: Answers) -> dict[str, Any]:
    """Means of steps, each with a look at its loss."""
    mean = {side: statistics.mean(one[0]["seconds"]) for side, one in (("native", native), ("proxied", proxied))}
    return {"mean": mean, "ratio": mean["proxied"] / mean["native"]}
