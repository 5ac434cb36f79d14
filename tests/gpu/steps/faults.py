"""PyTorch with faults: each in a small training, compared with the same training without; peer mode; validation."""

from __future__ import annotations

from typing import Any

from ..jobs import (
    Answers,
    after,
    compare,
    from_peers,
    largest_difference,
    same,
    start,
    two_workers,
    until_peers,
    workers,
)
from ..lab import Lab, StepFailed
from ..service import ALL_BOUNDARIES, NO_VALIDATION, Service
from . import fault_verdict
from .with_torch import STEPS, usable_attention

#: A fault that is a silence is noticed after so long.
_HANG = ("--hang-seconds", "8")
#: Losses of a few steps that a fault has come into may be off by so much, relative.
_LOSSES_OFF = 0.02
#: Steps that are asked for at once where the program goes on.
_BLOCK = 10


def killed_worker(lab: Lab) -> dict[str, Any]:
    """kill -9 of a worker in the backward pass of two ranks."""
    return _with_fault(lab, "kill-worker", ranks=2, at="phase=backward,skip=20")


def illegal_access(lab: Lab) -> dict[str, Any]:
    """A kernel that writes where it must not, among those of the forward pass."""
    kind = "sticky-error" if lab.rehearsal else "illegal-access"
    return _with_fault(lab, kind, ranks=1, at="phase=forward,skip=10")


def endless_kernel(lab: Lab) -> dict[str, Any]:
    """A kernel that never ends."""
    return _with_fault(lab, "endless-kernel", ranks=1, at="phase=backward,skip=10", options=_HANG)


def hung_collective(lab: Lab) -> dict[str, Any]:
    """A rank that does not come to an all-reduce."""
    return _with_fault(lab, "hung-collective", ranks=2, at="phase=collective", options=_HANG)


def expandable_segments(lab: Lab) -> dict[str, Any]:
    """PyTorch maps its memory by hand, and loses the worker."""
    return _with_fault(
        lab, "kill-worker", ranks=1, at="phase=backward,skip=10", PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True"
    )


def _with_fault(
    lab: Lab, kind: str, ranks: int, at: str, options: tuple[str, ...] = (), **environ: str
) -> dict[str, Any]:
    """Trains twice in one process, the second time with a fault: the same losses and state must come out."""
    with Service(lab, *workers(lab, ranks), *NO_VALIDATION, *options) as service:
        job = start(lab, "train", ranks, service, **usable_attention(lab), **environ)
        reference = job.ask(do="train", setting="small", steps=STEPS)
        lab.note(undisturbed_seconds=[one["seconds"] for one in reference])
        service.inject(kind, f"boundary={STEPS + 2},{at}")
        struck = job.ask(do="train", setting="small", steps=STEPS)
        _judge(lab, service.recoveries(), reference, struck, kind)
    return {}


def _judge(
    lab: Lab, recoveries: list[dict[str, Any]], reference: Answers, struck: Answers, kind: str = "kill-worker"
) -> None:
    found = compare(lab, "small", reference, struck)
    lab.note(
        recoveries=recoveries, identity=found.text(), losses=[reference[0]["losses"], struck[0]["losses"]]
    )  # fmt: skip
    if why := fault_verdict(recoveries, found.wrong(), kind):
        raise StepFailed(why)


def not_deterministic(lab: Lab) -> dict[str, Any]:
    """PyTorch as it is by default, which reads its losses: what a replay gives otherwise is tolerated, and noted."""
    noise = ("--noise", "3") if lab.rehearsal else ()
    with Service(lab, *two_workers(lab), *NO_VALIDATION, *noise) as service:
        job = start(lab, "train", 2, service)
        reference, again = (job.ask(do="default", setting="small", steps=STEPS) for _ in range(2))
        for gpu, phase in ((0, "backward"), (1, "optimizer")):
            service.inject("kill-worker", f"boundary={service.boundary(1) + 2},phase={phase},skip=2", gpu=gpu)
            struck = job.ask(do="default", setting="small", steps=STEPS)
        recoveries = service.recoveries()
    apart, off = largest_difference(reference, again), largest_difference(reference, struck)
    lab.note(
        recoveries=recoveries, identity="identical" if same(reference, again) else f"differs by itself by {apart:.2g}",
        figures={"numbers off": [one["differences"] for one in recoveries], "losses off": off},
    )  # fmt: skip
    if why := fault_verdict(recoveries, f"losses differ by {off:.2g}" if off > max(_LOSSES_OFF, 10 * apart) else ""):
        raise StepFailed(why)
    return {}


def peer_mode(lab: Lab) -> dict[str, Any]:
    """A kill once the service knows what the other rank holds: the state comes from there, over NCCL."""
    with Service(lab, *two_workers(lab), *NO_VALIDATION, *ALL_BOUNDARIES) as service:
        job = start(lab, "train", 2, service, **usable_attention(lab))
        settled = until_peers(job, service, _BLOCK, setting="small")
        service.inject("kill-worker", f"boundary={service.boundary(1) + 3},phase=backward,skip=5", gpu=1)
        struck = after(settled, job.ask(do="more", setting="small", steps=_BLOCK))
        recoveries = service.recoveries()
        reference = job.ask(do="train", setting="small", steps=settled.steps + _BLOCK)
    _judge(lab, recoveries, reference, struck)
    lab.note(figures={"from peers": recoveries[-1]["bytes_from_peers"], "after steps": settled.steps})
    if why := from_peers(lab, recoveries):
        raise StepFailed(why)
    return {}


def validation(lab: Lab) -> dict[str, Any]:
    """`jitc validate`: a minibatch is run twice, from restored memory, and compared block by block."""
    with Service(lab, "--gpus", "1", *NO_VALIDATION) as service:
        job = start(lab, "train", 1, service, **usable_attention(lab))
        job.ask(do="train", setting="small", steps=STEPS)
        asked = service.start("validate", "--gpu", "0", "--json", "--timeout", "30")
        while asked.process.poll() is None:
            job.ask(do="more", setting="small", steps=_BLOCK)
        validations = service.report()["validations"]
        if not validations:
            raise StepFailed(f"there is no verdict: {asked.how_it_ended()}")
        verdict = validations[-1]
    lab.note(validation=verdict | {"different": verdict["different"][:20]}, identity=verdict["outcome"])
    repeatable = lab.known.get("control", {}).get("repeatable", {}).get("small x1")
    if verdict["outcome"] != "identical" and repeatable is not False:
        raise StepFailed(f"{verdict['outcome']}: {len(verdict['different'])} blocks")
    return {}
