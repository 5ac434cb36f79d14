"""PyTorch without faults: operations one by one, attention, the control of what is repeatable natively, a training."""

from __future__ import annotations

from typing import Any

from ..jobs import compare, same, start
from ..lab import Lab, Program, StepFailed, StepNotRun
from ..service import NO_VALIDATION, Service
from .driver import all_good
from .networks import CASES as NETWORKS

STEPS = 6
#: A result of bf16 may be off by so much, relative to the largest number.
_CLOSE = 0.05


def operators(lab: Lab) -> dict[str, Any]:
    """PyTorch's operations one by one, compared with the CPU."""
    done: list[dict[str, Any]] = []
    with Service(lab, "--gpus", "1", *NO_VALIDATION) as service:
        following: str | None = ""
        while following is not None:
            words = ["--from", following] if following else []
            following = _operators(lab.program("operators", *words, socket=service.socket), done)
            lab.note(parts=done)
    return all_good(done, wanted=1)


def _operators(program: Program, done: list[dict[str, Any]]) -> str | None:
    """Reads a run's lines; where to go on when an operation ended the process."""
    running, names = "", []
    for document in program.documents():
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


def attention(lab: Lab) -> dict[str, Any]:
    """Each of PyTorch's back ends once in bf16, forward and backward, with and without the proxy."""
    if lab.rehearsal:
        raise StepNotRun("the software device has no such kernels")
    lab.note(native=_attention(lab.program("attention", "cuda")))
    with Service(lab, "--gpus", "1", *NO_VALIDATION) as service:
        lab.note(proxied=_attention(lab.program("attention", "cuda", socket=service.socket)))
    native, proxied = lab.data["native"], lab.data["proxied"]
    works = {name: one["ok"] for name, one in proxied.items()}
    lab.note(works=works, figures={"work natively": _names(native), "and proxied": _names(proxied)})
    wrong = []
    for name, one in native.items():
        other = proxied.get(name, {"ok": False, "error": "it was not reached"})
        if one["ok"] and not other["ok"]:
            wrong.append(f"{name}: {other['error']}")
        elif one["ok"] and other["difference"] > max(_CLOSE, 2 * one["difference"]):
            wrong.append(f"{name}: wrong by {other['difference']:.2g}")
    if wrong:
        raise StepFailed("; ".join(wrong))
    return {}


def _attention(program: Program) -> dict[str, Any]:
    """What each did; the one that ended the process has failed."""
    found, running = {}, ""
    for document in program.documents():
        running = document.get("begins", "")
        if "name" in document:
            found[document["name"]] = document
    program.close()
    if running:
        found[running] = {"name": running, "ok": False, "error": f"the process ended: {program.tail()}"}
    if not found:
        raise StepFailed(f"the program did not start: {program.tail()}")
    return found


def _names(found: dict[str, Any]) -> str:
    return ", ".join(name.partition("_")[0].lower() for name, one in found.items() if one["ok"]) or "none"


def control(lab: Lab) -> dict[str, Any]:
    """The same programs natively, twice each: where those differ already, identity says nothing about the proxy."""
    repeatable: dict[str, bool] = {}
    deterministic: dict[str, str] = {}
    failed: list[str] = []
    first, second = (start(lab, "train", 1, None) for _ in range(2))
    for setting in ("small", *NETWORKS):
        try:
            for job in (first, second):
                job.tell(do="train", setting=setting, steps=STEPS)
            answers = [job.answers() for job in (first, second)]
        except StepFailed as error:
            failed.append(f"{setting}: {error}")
            break
        repeatable[f"{setting} x1"] = same(*answers)
        deterministic[setting] = answers[0][0]["deterministic"]
        lab.note(repeatable=repeatable, deterministic=deterministic)
    for job in (first, second):
        job.end()
    try:
        pair = start(lab, "train", 2, None)
        runs = [pair.ask(do="train", setting="small", steps=STEPS) for _ in range(2)]
        repeatable["small x2"] = same(*runs)
        lab.note(repeatable=repeatable)
    except StepFailed as error:
        failed.append(f"two ranks: {error}")
    differ = [name for name, equal in repeatable.items() if not equal]
    lab.note(identity=f"native runs differ: {', '.join(differ)}" if differ else "native runs are identical")
    if failed:
        raise StepFailed("; ".join(failed))
    return {}


def training(lab: Lab) -> dict[str, Any]:
    """A small GPT in bf16, with and without the proxy: the same losses and state."""
    with Service(lab, "--gpus", "1", *NO_VALIDATION) as service:
        answers = []
        for side in (None, service):
            job = start(lab, "train", 1, side, **usable_attention(lab))
            answers.append(job.ask(do="train", setting="small", steps=STEPS))
            job.end()
    found = compare(lab, "small", *answers)
    lab.note(losses=[one[0]["losses"] for one in answers], identity=found.text())
    if lab.rehearsal:  # the CPU's own kernels for bf16 are not the software device's
        return {}
    if why := found.wrong():
        raise StepFailed(why)
    return {}


def usable_attention(lab: Lab) -> dict[str, str]:
    """Environment of programs with a GPT, with and without the proxy: not by a back end that is known to fail."""
    works = lab.known.get("attention", {}).get("works", {})
    return {"TORCH_CUDNN_SDPA_DEPRIORITIZED": "1"} if works.get("CUDNN_ATTENTION") is False else {}
