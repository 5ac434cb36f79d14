"""Steps that need no PyTorch: the smallest program, what single calls cost, and a job on the driver and NCCL alone."""

from __future__ import annotations

import json
import time
from typing import Any

from ..jobs import Answers, Job, after, from_peers, same, start, two_workers, until_peers
from ..lab import Lab, Program, StepFailed, StepNotRun
from ..preflight import libraries
from ..programs.costs import BOUNDARIES, loops_library
from ..service import ALL_BOUNDARIES, NO_VALIDATION, Service
from . import fault_verdict

_STEPS = 8
#: Where the job's rank 1 loses its worker, one after the other.
_FAULTS = ("backward", "collective", "optimizer,skip=1")


def smallest_program(lab: Lab) -> dict[str, Any]:
    """A ctypes program: memory, streams, events, through the runtime's and the driver's API."""
    with Service(lab, "--gpus", "1") as service:
        program = lab.program("smallest", socket=service.socket)
        parts = program.documents()
        program.close()
    return all_good(parts, wanted=3, said=program.tail())


def all_good(parts: list[dict[str, Any]], wanted: int, said: str = "") -> dict[str, Any]:
    bad = [one for one in parts if not one["ok"]]
    data = {"passed": len(parts) - len(bad), "failed": len(bad), "parts": parts}
    if bad or len(parts) < wanted:
        first = f"{bad[0]['name']}: {bad[0]['error']}" if bad else f"the program ended early: {said}"
        raise StepFailed(f"{len(bad)} of {len(parts)} failed, first {first}", data)
    return data


#: For the copies of one boundary of the program of costs.
BOUNDARY_SECONDS = 20.0


def costs(lab: Lab) -> dict[str, Any]:
    """Launches, round trips, queries, copies; with and without the proxy; and the phases of a boundary."""
    if lab.rehearsal:
        raise StepNotRun("the software device runs no kernels of modules")
    if not loops_library().exists():
        raise StepNotRun(f"{loops_library().name} is not built")
    native = lab.program("costs", libraries.path("driver", lab.options))
    lab.note(native=_parts(native))
    native.close()
    with Service(lab, "--gpus", "1", *NO_VALIDATION) as service:
        proxied = lab.program("costs", socket=service.socket)
        lab.note(proxied=_parts(proxied))
        sessions = _sessions(service, BOUNDARIES)
        lab.note(boundary_phases=[one["boundary_phases"] for one in sessions])
    sides = {side: lab.data[side] for side in ("native", "proxied")}
    lab.note(figures=_figures(sides) | _boundary_ms(sessions))
    bad = [f"{side} {one['name']}: {one['error']}" for side, parts in sides.items() for one in parts if not one["ok"]]
    if bad or len(sides["proxied"]) < len(sides["native"]) + 1:
        raise StepFailed("; ".join(bad) or f"the program ended early: {proxied.tail()}")
    return {}


def _sessions(service: Service, boundaries: int) -> list[dict[str, Any]]:
    """Once the first one's last boundary is complete, which may be later than the work of the program is."""
    end = time.monotonic() + BOUNDARY_SECONDS
    while True:
        found = [one for worker in service.workers() for one in worker["sessions"]]
        if not found or found[0]["boundary_phases"]["boundaries"] >= boundaries or time.monotonic() > end:
            return found
        time.sleep(0.01)


def _parts(program: Program) -> list[dict[str, Any]]:
    """Until its last part; it then waits for its end. None is lost where it ends early."""
    found: list[dict[str, Any]] = []
    last = "boundaries" if program.name.endswith("proxied") else "copies"
    while not found or found[-1]["name"] != last:
        line = program.line()
        if line is None:
            found.append({"name": "all", "ok": False, "error": program.how_it_ended()})
            break
        found.append(json.loads(line))
    return found


def _figures(sides: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """What explains a ratio."""
    data = {side: {one["name"]: one.get("data", {}) for one in parts} for side, parts in sides.items()}
    found: dict[str, Any] = {}
    for title, part, key in (
        ("launch us", "launches", "client_us"), ("launch done us", "launches", "until_done_us"),
        ("round trip us", "round_trips", "median_us"), ("read us", "reads", "median_us"),
        ("event query us", "event_queries", "us"), ("h2d pinned GB/s", "copies", "h2d_pinned"),
        ("d2h pinned GB/s", "copies", "d2h_pinned"), ("h2d pageable GB/s", "copies", "h2d_pageable"),
        ("d2h pageable GB/s", "copies", "d2h_pageable"),
    ):  # fmt: skip
        values = [data[side].get(part, {}).get(key) for side in ("native", "proxied")]
        if None not in values:
            found[title] = f"{values[0]:.3g} -> {values[1]:.3g}"
    return found


def _boundary_ms(sessions: list[dict[str, Any]]) -> dict[str, str]:
    """Of one boundary, with all its memory copied."""
    phases = sessions[0]["boundary_phases"] if sessions else {"boundaries": 0}
    if not (count := phases["boundaries"]):
        return {}
    told = (f"{name} {1000 * seconds / count:.3g}" for name, seconds in phases["seconds"].items() if seconds)
    return {"boundary ms": f"({', '.join(told)})"}


def driver_job(lab: Lab) -> dict[str, Any]:
    """Two ranks on one GPU: kernels, copies, all-reduce, optimizer steps. Equal to native; with the state of a killed
    worker from its peer; with kills in several phases."""
    if lab.rehearsal:
        raise StepNotRun("the software device runs no kernels of modules")
    paths = {"LIBCUDA": libraries.path("driver", lab.options), "LIBNCCL": libraries.path("nccl", lab.options)}
    native = _native(lab, paths)
    lab.note(native_error=native if isinstance(native, str) else "", recoveries=[])
    wrong = []
    with Service(lab, *two_workers(lab), *NO_VALIDATION, *ALL_BOUNDARIES) as service:
        job = _joined(start(lab, "driver_job", 2, service))
        wrong.append(_with_peers(lab, job, service))
        undisturbed = job.ask(do="train", steps=_STEPS)
        equal = "not run" if isinstance(native, str) else "identical" if same(native, undisturbed) else "DIFFERENT"
        lab.note(identity=f"native and proxied {equal}")
        wrong.append("results differ from those without the proxy" if equal == "DIFFERENT" else "")
        wrong += [_with_fault(lab, job, service, undisturbed, at) for at in _FAULTS]
    if wrong := [one for one in wrong if one]:
        raise StepFailed("; ".join(wrong))
    return {}


def _with_peers(lab: Lab, job: Job, service: Service) -> str:
    """A kill once the service relies on peers; what is wrong with it, or nothing."""
    try:
        settled = until_peers(job, service, _STEPS)
    except StepFailed as error:
        if any(program.finished for program in job.programs):
            raise
        return str(error)
    service.inject("kill-worker", f"boundary={service.boundary(1) + 2},phase=backward", gpu=1)
    struck = after(settled, job.ask(do="more", steps=_STEPS))
    recoveries = service.recoveries()
    lab.note(recoveries=recoveries, figures={"from peers": recoveries[-1]["bytes_from_peers"] if recoveries else {}})
    expected = job.ask(do="train", steps=settled.steps + _STEPS)
    why = fault_verdict(recoveries, "" if same(expected, struck) else "results differ") or from_peers(lab, recoveries)
    return f"with peers: {why}" if why else ""


def _with_fault(lab: Lab, job: Job, service: Service, undisturbed: Answers, at: str) -> str:
    """A kill in a phase; what is wrong with it, or nothing."""
    before = len(service.recoveries())
    service.inject("kill-worker", f"boundary={service.boundary(1) + 2},phase={at}", gpu=1)
    struck = job.ask(do="train", steps=_STEPS)
    recoveries = service.recoveries()[before:]
    lab.note(recoveries=lab.data["recoveries"] + recoveries)
    why = fault_verdict(recoveries, "" if same(undisturbed, struck) else "results differ")
    return f"{at}: {why}" if why else ""


def _native(lab: Lab, paths: dict[str, str]) -> Answers | str:
    """Why there are no results, where two processes cannot do this on one GPU."""
    try:
        job = _joined(start(lab, "driver_job", 2, None, **paths))
        answers = job.ask(do="train", steps=_STEPS)
    except StepFailed as error:
        lab.close()
        return str(error)
    job.end()
    return answers


def _joined(job: Job) -> Job:
    job.programs[0].tell(do="id")
    job.ask(do="join", **job.programs[0].answer())
    return job
