"""The check of cuDNN on a GPU: a CNN in two forms and an LSTM, with and without the proxy, timed, and with a fault.

Called by: gpu_steps.py. A case that comes out wrong does not keep the others from running.
"""

from __future__ import annotations

from typing import Any

from gpu_jobs import FAULT_STEPS, ask, fault_verdict, interleaved, same, start
from gpu_lab import Lab, Program, Service, StepFailed, StepSkipped

CASES = ("convnet", "convnet-bf16", "lstm")
#: Steps of one timed block, and how many blocks.
BLOCK, ROUNDS = 5, 5
_SERVED = "import ctypes; print(ctypes.CDLL(None).jitc_serves_cudnn(0))"
Sides = dict[str, list[Program]]


def convnet(lab: Lab) -> dict[str, Any]:
    """A residual CNN (fp32; bf16 with channels last) and an LSTM: losses and state to the last bit, step times, and the
    same after kill -9 of the worker. The rehearsal has no cuDNN, the rest is the same."""
    with lab.service("--gpus", "1") as service:
        if not lab.rehearsal and lab.program("-c", _SERVED, service=service).line(30) != "1":
            raise StepSkipped("the service has no libcudnn; jitc-proxyd says at its start where it looked")
        sides = {"native": start(lab, 1, None), "proxied": start(lab, 1, service)}
        data: dict[str, Any] = {
            "cudnn": {side: programs[0].greeting["cudnn"] for side, programs in sides.items()},
            "losses_identical": True, "state_identical": True, "times": {}, "cases": {}, "recoveries": [],
        }  # fmt: skip
        if not lab.rehearsal and data["cudnn"]["native"] != data["cudnn"]["proxied"]:
            raise StepFailed("PyTorch does not use the cuDNN with the proxy that it uses without", data)
        try:
            wrong = [f"{name}: {why}" for name in CASES if (why := _case(lab, service, sides, name, data))]
        except StepFailed as error:
            raise StepFailed(f"{CASES[len(data['cases'])]}: {error}", data) from None
    if wrong:
        raise StepFailed("; ".join(wrong), data)
    return data


def _case(lab: Lab, service: Service, sides: Sides, setting: str, data: dict[str, Any]) -> str:
    """Adds to the data; what is wrong with it, or nothing."""
    request = {"do": "train", "setting": setting, "steps": FAULT_STEPS}
    runs = {side: ask(programs, **request) for side, programs in sides.items()}
    rounds, block = (1, 1) if lab.rehearsal else (ROUNDS, BLOCK)
    times = interleaved(sides, setting, rounds, block)
    before = len(service.recoveries())
    place = f"boundary={service.boundary(0) + 2},phase=backward,skip=5"
    service.command("inject", "kill-worker", "--gpu", "0", "--at", place)
    struck = ask(sides["proxied"], **request)
    recoveries = service.recoveries()[before:]
    case = {
        "losses": {side: answers[0]["losses"] for side, answers in runs.items()},
        "losses_identical": same(runs["native"], runs["proxied"], "losses"),
        "state_identical": same(runs["native"], runs["proxied"], "state"),
        "identical_after_fault": all(same(runs["proxied"], struck, key) for key in ("losses", "state")),
    }
    data["cases"][setting], data["times"][setting] = case, times
    data["recoveries"] += recoveries
    for key in ("losses_identical", "state_identical"):
        data[key] = data[key] and case[key]
    if not lab.rehearsal and not (case["losses_identical"] and case["state_identical"]):
        return "losses or state differ from those without the proxy"
    return fault_verdict(recoveries, bool(case["identical_after_fault"]))
