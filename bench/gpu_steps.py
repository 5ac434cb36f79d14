"""The checks on a GPU, one function each: takes the lab, gives figures, or raises StepFailed.

Called by: scripts/gpu_check.py, which limits and records them. None may count on an earlier one; what an earlier one
found out (Lab.kept) only saves time.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable, Mapping
from importlib import metadata
from typing import Any

from gpu_cudnn import convnet
from gpu_jobs import FAULT_STEPS, ask, fault_verdict, interleaved, same, start, two_workers
from gpu_lab import BENCH, Lab, Program, Service, StepFailed

ROUNDS = 7
#: Steps of one timed block: long enough to be exact, short enough to interleave.
BLOCK = {"gpu-bound": 5, "launch-bound": 30}
GOALS = {"gpu-bound": 1.05, "launch-bound": 1.5}
TRAIN_STEPS = 8
PACKAGES = (
    "torch",
    "triton",
    "grpcio",
    "protobuf",
    "nvidia-ml-py",
    "numpy",
    "jitc",
    "nvidia-nccl-cu13",
    "nvidia-cublas",
    "nvidia-cudnn-cu13",
)
_DISCOVER = """
import json
from jitc.proxy.backends import open_backend
from jitc.proxy.node.config import Config
found = open_backend(Config(socket="/nowhere", device="cuda"))
one = found.assignment(0)
print(json.dumps({"gpus": [{"name": g.name, "memory": g.memory_total, "capability": g.capability,
  "multiprocessors": g.multiprocessors} for g in found.gpus], "driver": one.driver, "nccl": one.nccl,
  "cublas": one.cublas, "cublaslt": one.cublaslt, "nvrtc": one.nvrtc,
  "cudnn": one.cudnn, "versions": found.versions()}))
"""


def environment(lab: Lab) -> dict[str, Any]:
    """What this machine is, and that PyTorch works on it without the proxy."""
    data: dict[str, Any] = {
        "python": platform.python_version(), "system": platform.platform(), "libc": " ".join(platform.libc_ver()),
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
    }  # fmt: skip
    if not lab.rehearsal:
        data["jitc"] = lab.program("-c", _DISCOVER).answer(60)
    check = "import json, torch; x = torch.ones(8, device='%s'); print(json.dumps({'sum': x.sum().item()}))"
    native = lab.program("-c", check % ("cpu" if lab.rehearsal else "cuda")).answer(60)
    if native["sum"] != 8:
        raise StepFailed("PyTorch without the proxy computes wrongly", data)
    return data


def smallest_program(lab: Lab) -> dict[str, Any]:
    """A ctypes program: memory, streams, events, through the runtime's and the driver's API."""
    with lab.service("--gpus", "1") as service:
        program = lab.program(str(BENCH / "gpu_smallest.py"), service=service)
        parts = _documents(program)
    return _all_good(parts, wanted=3, said=program.tail())


def operators(lab: Lab) -> dict[str, Any]:
    """PyTorch's operations one by one, compared with the CPU."""
    done: list[dict[str, Any]] = []
    with lab.service("--gpus", "1") as service:
        following: str | None = ""
        while following is not None:
            words = [str(BENCH / "gpu_operators.py"), *(["--from", following] if following else [])]
            following = _operators(lab.program(*words, service=service), done)
    return _all_good(done, wanted=1)


def _operators(program: Program, done: list[dict[str, Any]]) -> str | None:
    """Reads a run's lines; where to go on when an operation ended the process."""
    running, names = "", []
    for document in _documents(program):
        running, names = document.get("begins", running), document.get("names", names)
        if "name" in document:
            done.append(document)
            running = ""
    program.close()
    if not names:
        raise StepFailed(f"the program did not start: {program.tail()}")
    if not running:
        return None
    done.append({"name": running, "ok": False, "error": f"the process ended: {program.tail()}"})
    rest = names[names.index(running) + 1 :]
    return rest[0] if rest else None


def one_rank(lab: Lab) -> dict[str, Any]:
    """GPT, 124 M parameters, bf16: losses and state to the last bit, step times, with and without the proxy."""
    with lab.service("--gpus", "1") as service:
        return _compare(lab, service, ranks=1)


def two_ranks(lab: Lab) -> dict[str, Any]:
    """The same, data parallel, two ranks on one GPU."""
    with lab.service(*two_workers(lab)) as service:
        return _compare(lab, service, ranks=2)


def killed_worker(lab: Lab) -> dict[str, Any]:
    """kill -9 of a worker in the backward pass of two ranks."""
    return _with_fault(lab, "kill-worker", ranks=2, at="phase=backward,skip=20")


def illegal_access(lab: Lab) -> dict[str, Any]:
    """A kernel that writes where it must not, among those of the forward pass."""
    return _with_fault(lab, "illegal-access", ranks=1, at="phase=forward,skip=10")


def endless_kernel(lab: Lab) -> dict[str, Any]:
    """A kernel that never ends."""
    return _with_fault(lab, "endless-kernel", ranks=1, at="phase=backward,skip=10", options=("--hang-seconds", "8"))


def hung_collective(lab: Lab) -> dict[str, Any]:
    """A rank that does not come to an all-reduce."""
    return _with_fault(lab, "hung-collective", ranks=2, at="phase=collective", options=("--hang-seconds", "8"))


def expandable_segments(lab: Lab) -> dict[str, Any]:
    """PyTorch maps its memory by hand, and loses the worker."""
    return _with_fault(
        lab, "kill-worker", ranks=1, at="phase=backward,skip=10", PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True"
    )


STEPS: tuple[tuple[Callable[[Lab], dict[str, Any]], float], ...] = (
    (environment, 60),
    (smallest_program, 40),
    (operators, 90),
    (one_rank, 150),
    (killed_worker, 80),
    (illegal_access, 60),
    (two_ranks, 120),
    (endless_kernel, 60),
    (hung_collective, 80),
    (convnet, 100),
    (expandable_segments, 60),
)


# -- parts ----------------------------------------------------------------------------------------


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _documents(program: Program) -> list[dict[str, Any]]:
    found = []
    while (line := program.line()) is not None:
        found.append(json.loads(line))
    return found


def _all_good(parts: list[dict[str, Any]], wanted: int, said: str = "") -> dict[str, Any]:
    bad = [one for one in parts if not one["ok"]]
    data = {"passed": len(parts) - len(bad), "failed": len(bad), "parts": parts}
    if bad or len(parts) < wanted:
        first = f"{bad[0]['name']}: {bad[0]['error']}" if bad else f"the program ended early: {said}"
        raise StepFailed(f"{len(bad)} of {len(parts)} failed, first {first}", data)
    return data


def _compare(lab: Lab, service: Service, ranks: int) -> dict[str, Any]:
    sides = {"native": start(lab, ranks, None), "proxied": start(lab, ranks, service)}
    setting = "gpu-bound" if ranks == 1 else "small"
    steps = TRAIN_STEPS if ranks == 1 else FAULT_STEPS
    runs = {side: ask(programs, do="train", setting=setting, steps=steps) for side, programs in sides.items()}
    data: dict[str, Any] = {
        "losses": {side: [one["losses"] for one in answers] for side, answers in runs.items()},
        "losses_identical": same(runs["native"], runs["proxied"], "losses"),
        "state_identical": same(runs["native"], runs["proxied"], "state"),
        "steps": steps,
        "times": {},
    }
    try:
        for name in BLOCK:
            data["times"][name] = _times(lab, sides, name)
    except StepFailed as error:
        raise StepFailed(str(error), data) from None
    if not lab.rehearsal and not (data["losses_identical"] and data["state_identical"]):
        raise StepFailed("losses or state differ from those without the proxy", data)
    slow = [f"{name} {data['times'][name]['ratio']:.3f}" for name in BLOCK if not data["times"][name]["goal_met"]]
    if slow and not lab.rehearsal:
        raise StepFailed(f"step time ratio above the goal: {', '.join(slow)}", data)
    return data


def _times(lab: Lab, sides: Mapping[str, list[Program]], name: str) -> dict[str, Any]:
    rounds = 1 if lab.rehearsal else ROUNDS if len(sides["native"]) == 1 else 3
    times = interleaved(sides, name, rounds, 1 if lab.rehearsal else BLOCK[name])
    return {**times, "goal": GOALS[name], "goal_met": times["ratio"] <= GOALS[name]}


def _with_fault(
    lab: Lab, kind: str, ranks: int, at: str, options: tuple[str, ...] = (), **environ: str
) -> dict[str, Any]:
    """Trains twice in one process, the second time with a fault: the same losses and state must come out."""
    with lab.service(*(two_workers(lab) if ranks == 2 else ("--gpus", "1")), *options) as service:
        programs = start(lab, ranks, service, **environ)
        request = {"do": "train", "setting": "small", "steps": FAULT_STEPS}
        reference = ask(programs, **request)
        service.command("inject", kind, "--gpu", "0", "--at", f"boundary={FAULT_STEPS + 2},{at}")
        struck = ask(programs, **request)
        recoveries = service.recoveries()
    data = {
        "losses_identical": same(reference, struck, "losses"),
        "state_identical": same(reference, struck, "state"),
        "recoveries": recoveries,
    }
    if why := fault_verdict(recoveries, data["losses_identical"] and data["state_identical"]):
        raise StepFailed(why, data)
    return data


if __name__ == "__main__":
    sys.exit("gpu_steps.py is a part of scripts/gpu_check.py")
