"""NVIDIA's other libraries, and PyTorch's other ways to the GPU: what happens with each, through the proxy and without.

Many of them are not served (docs/coverage.md): the step then says how that shows in a program.
"""

from __future__ import annotations

from typing import Any

from ..jobs import start, two_workers
from ..lab import Lab, StepFailed, StepNotRun, StepRefused
from ..service import NO_VALIDATION, Service
from . import fault_verdict

#: What jitc says of what it does not serve by design.
REFUSALS = ("is not served: ", "has a CUDA runtime of its own, linked in statically: ")


def fft(lab: Lab) -> dict[str, Any]:
    """torch.fft: cuFFT."""
    return _feature(lab, "fft")


def linalg(lab: Lab) -> dict[str, Any]:
    """torch.linalg.solve and others: cuSOLVER."""
    return _feature(lab, "linalg")


def linalg_magma(lab: Lab) -> dict[str, Any]:
    """torch.linalg as far as MAGMA serves it."""
    return _feature(lab, "linalg_magma")


def sparse(lab: Lab) -> dict[str, Any]:
    """A sparse product: cuSPARSE."""
    return _feature(lab, "sparse")


def profiler(lab: Lab) -> dict[str, Any]:
    """torch.profiler with CUDA's activities: CUPTI."""
    return _feature(lab, "profiler")


def cupy(lab: Lab) -> dict[str, Any]:
    """CuPy's arrays and a kernel that it compiles."""
    return _feature(lab, "cupy")


def other_libraries(lab: Lab) -> dict[str, Any]:
    """cuRAND, cuSPARSELt, cuFile, CUPTI: what the first call of each says."""
    return _feature(lab, "other_libraries")


def compiled(lab: Lab) -> dict[str, Any]:
    """torch.compile: kernels of Triton, compiled here."""
    return _feature(lab, "compiled")


def graph_with_nccl(lab: Lab) -> dict[str, Any]:
    """A CUDA graph that holds an all-reduce of two ranks: launched, and launched again after a worker was killed."""
    with Service(lab, *two_workers(lab), *NO_VALIDATION) as service:
        try:
            job = start(lab, "graph", 2, service)
            lab.note(before=job.ask(do="launch"))
        except StepFailed as error:
            raise _native_verdict(lab, lambda: start(lab, "graph", 2, None).ask(do="launch"), str(error)) from error
        service.command("inject", "kill-worker", "--gpu", "1", "--wait")
        lab.note(after=job.ask(do="launch"), recoveries=service.recoveries())
    wrong = [one for one in (*lab.data["before"], *lab.data["after"]) if one["got"] != one["wanted"]]
    if why := fault_verdict(lab.data["recoveries"], f"results differ: {wrong[0]}" if wrong else ""):
        raise StepFailed(why)
    return {}


def _feature(lab: Lab, name: str) -> dict[str, Any]:
    with Service(lab, "--gpus", "1", *NO_VALIDATION) as service:
        program = lab.program("features", name, socket=service.socket)
        told = program.documents()
        program.close()
    answer = told[0] if told else {"ok": False, "error": program.how_it_ended()}
    lab.note(proxied=answer, said_by_jitc=[one for one in program.said().splitlines() if one.startswith("jitc:")][:10])
    if absent := answer.get("absent"):
        raise StepNotRun(f"not installed: {absent}")
    if answer["ok"]:
        return {}
    verdict = _native_verdict(lab, lambda: _native(lab, name), answer["error"])
    told = [one for one in lab.data["said_by_jitc"] if any(words in one for words in REFUSALS)]
    raise StepRefused("; ".join(told)) if told and isinstance(verdict, StepFailed) else verdict


def _native(lab: Lab, name: str) -> None:
    program = lab.program("features", name)
    answer = program.answer()
    program.close()
    lab.note(native=answer)
    if not answer["ok"]:
        raise StepFailed(answer["error"])


def _native_verdict(lab: Lab, native: Any, error: str) -> StepFailed | StepNotRun:
    """A failure is the proxy's only where the same works without it."""
    if lab.rehearsal:
        return StepNotRun(f"not on the software device: {error}")
    try:
        native()
    except StepFailed as same:
        return StepNotRun(f"does not work without the proxy either: {same}; with it: {error}")
    return StepFailed(f"{error} (works without the proxy)")
