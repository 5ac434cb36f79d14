"""What cuDNN is for: a CNN in two forms and an LSTM, with and without the proxy, and with a fault.

A case that comes out wrong does not keep the others from running.
"""

from __future__ import annotations

from typing import Any

from ..jobs import Job, compare, start
from ..lab import Lab, StepFailed, StepNotRun
from ..service import NO_VALIDATION, Service
from . import fault_verdict

CASES = ("convnet", "convnet-bf16", "lstm")
_STEPS = 6


def convnet(lab: Lab) -> dict[str, Any]:
    """A residual CNN (fp32; bf16 with channels last) and an LSTM: the same losses and state as natively, and the same
    after kill -9 of the worker. The rehearsal has no cuDNN, the rest is the same."""
    with Service(lab, "--gpus", "1", *NO_VALIDATION) as service:
        sides = {"native": start(lab, "train", 1, None), "proxied": start(lab, "train", 1, service)}
        cudnn = {side: job.programs[0].greeting["cudnn"] for side, job in sides.items()}
        lab.note(cudnn=cudnn, cases={}, recoveries=[])
        if not lab.rehearsal and cudnn["proxied"] is None:
            raise StepNotRun("the service has no libcudnn; jitc-proxyd says at its start where it looked")
        if not lab.rehearsal and cudnn["native"] != cudnn["proxied"]:
            raise StepFailed("PyTorch does not use the cuDNN with the proxy that it uses without")
        wrong = []
        for name in CASES:
            try:
                if why := _case(lab, service, sides, name):
                    wrong.append(f"{name}: {why}")
            except StepFailed as error:
                raise StepFailed("; ".join([*wrong, f"{name}: {error}"])) from None
    texts = sorted({one["identity"] for one in lab.data["cases"].values()})
    lab.note(identity="; ".join(texts))
    if wrong:
        raise StepFailed("; ".join(wrong))
    return {}


def _case(lab: Lab, service: Service, sides: dict[str, Job], setting: str) -> str:
    """What is wrong with it, or nothing."""
    request = {"do": "train", "setting": setting, "steps": _STEPS}
    native, proxied = (sides[side].ask(**request) for side in ("native", "proxied"))
    before = len(service.recoveries())
    service.inject("kill-worker", f"boundary={service.boundary() + 2},phase=backward,skip=5")
    struck = sides["proxied"].ask(**request)
    recoveries = service.recoveries()[before:]
    found, after = compare(lab, setting, native, proxied), compare(lab, setting, proxied, struck)
    case = {
        "losses": [one[0]["losses"] for one in (native, proxied, struck)], "identity": found.text(),
        "after_fault": after.text(),
    }  # fmt: skip
    lab.note(cases=lab.data["cases"] | {setting: case}, recoveries=lab.data["recoveries"] + recoveries)
    why = fault_verdict(recoveries, after.wrong())
    if not lab.rehearsal and found.wrong():
        why = "; ".join(filter(None, (f"without a fault: {found.wrong()}", why)))
    return why
