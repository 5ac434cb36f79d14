"""Programs that nobody here wrote (tests/third_party): those whose libraries are on this machine, several at once.

Each runs natively and with the proxy, then with the worker of each GPU killed twice; losses and weights must come out
the same. One GPU serves all ranks. Where the native run differs from the proxied one it runs again: a program that is
not the same twice without the proxy shows no more than that it is recovered.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from third_party.cases import CASES, Case
from third_party.counts import Counts

from ..jobs import meeting
from ..lab import Lab, Program, StepFailed, preload
from ..places import PACKAGE
from ..results import slug
from ..service import NO_VALIDATION, Service
from .libraries import REFUSALS

PROGRAMS = PACKAGE.parent / "third_party" / "programs"
IDENTICAL, FAILED, REFUSED, NOT_RUN = "identical", "failed", "refused", "not run"
NOT_REPEATABLE = "recovered; native runs differ too"
#: A rehearsal takes those that need nothing but PyTorch, and not for long.
_REHEARSED = ("own_nccl", "data_parallel")
_KILLS = 2  # of each GPU's worker
_TOLD = "outcome: step "
#: A program that has not ended by then is wrong; none begins with less time left than the second.
_LIMIT, _LEAST = 120.0, 45.0
_ABSENT = "ModuleNotFoundError"


class Absent(Exception):
    """A library is not on this machine."""


class Wrong(Exception):
    """What is wrong with a run, in a line."""


@dataclass(frozen=True)
class Side:
    """What a run came to: the ranks' records, ops by step, recoveries."""

    records: list[dict[str, Any]]
    counts: Counts = field(default_factory=Counts)
    recoveries: list[dict[str, Any]] = field(default_factory=list)
    kills: int = 0


def third_party(lab: Lab) -> dict[str, Any]:
    """Libraries from PyPI, driven as their documentation says: natively, with the proxy, with kills."""
    chosen = [one for one in CASES if not one.launcher and (not lab.rehearsal or one.program in _REHEARSED)]
    if only := os.environ.get("THIRD_PARTY", ""):
        chosen = [one for one in chosen if any(word in one.name for word in only.split(","))]
    lab.note(cases={})

    def run(case: Case, part: Lab) -> None:
        begin = time.monotonic()
        found = _verdict(part, case)
        lab.note(cases=lab.data["cases"] | {case.name: found | {"seconds": round(time.monotonic() - begin, 1)}})

    with ThreadPoolExecutor(2 if lab.rehearsal else max(2, (os.cpu_count() or 4) * 5 // 8)) as pool:
        list(pool.map(run, chosen, [lab.part(slug(one.name)) for one in chosen]))
    verdicts = Counter(one["verdict"] for one in lab.data["cases"].values())
    lab.note(identity=", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common()))
    if wrong := [f"{name}: {one['reason']}" for name, one in lab.data["cases"].items() if one["verdict"] == FAILED]:
        raise StepFailed("; ".join(wrong))
    return {}


def _verdict(lab: Lab, case: Case) -> dict[str, Any]:
    try:
        if lab.over(_LEAST):
            return {"verdict": NOT_RUN, "reason": "no time was left"}
        return _compared(lab, case)
    except Absent as absent:
        return {"verdict": NOT_RUN, "reason": str(absent)}
    except (Wrong, StepFailed) as wrong:
        text = str(wrong)
        if lab.over():
            return {"verdict": NOT_RUN, "reason": f"the step's time was over: {text[-200:]}"}
        return {"verdict": REFUSED if any(one in text for one in REFUSALS) else FAILED, "reason": text[-600:]}
    except Exception as error:  # of this step's own; the other cases go on
        return {"verdict": FAILED, "reason": f"{type(error).__name__}: {error}"}


def _compared(lab: Lab, case: Case) -> dict[str, Any]:
    """The verdict on runs that all came to their end."""
    alone = not lab.rehearsal and case.devices <= case.ranks  # else it needs more GPUs than there are
    with ThreadPoolExecutor(2) as pool:
        apart = lab.part("native")  # a service ends what was started after it
        waiting = pool.submit(_native, apart, case, "native") if alone else None
        try:
            quiet = _proxied(lab, case, "proxied")
        finally:
            native = _or_why(waiting.result) if waiting else None
    why_not = native if isinstance(native, str) else ""
    native = None if isinstance(native, str) else native
    struck = _proxied(lab, case, "killed", quiet.counts)
    found: dict[str, Any] = {
        "kills": struck.kills, "seconds_of_recoveries": [one["seconds"] for one in struck.recoveries],
        "compared_with_native": native is not None, "why_not_native": why_not,
    }  # fmt: skip
    without = native is None or native.records == quiet.records
    if without and struck.records == quiet.records:
        return found | {"verdict": IDENTICAL, "reason": ""}
    pairs = {"native and proxied": without, "with kills": struck.records == quiet.records}
    reason = "differ: " + ", ".join(name for name, equal in pairs.items() if not equal)
    again = _or_why(lambda: _native(lab, case, "native-again")) if native else None
    apart_by_itself = isinstance(again, Side) and native is not None and again.records != native.records
    return found | {"verdict": NOT_REPEATABLE if apart_by_itself else FAILED, "reason": reason}


def _or_why(run: Callable[[], Side]) -> Side | str:
    try:
        return run()
    except (Wrong, StepFailed) as wrong:
        return str(wrong)


def _native(lab: Lab, case: Case, side: str) -> Side:
    return Side(_ended(lab, case, side, None, lambda: None))


def _proxied(lab: Lab, case: Case, side: str, reference: Counts | None = None) -> Side:
    """With a service of its own; reference: a run whose ops say where workers are killed."""
    many = ("--gpus", str(case.devices)) if lab.rehearsal else ("--gpus", "1", "--workers-per-gpu", str(case.devices))
    with Service(lab, *many, *NO_VALIDATION) as service:
        planned = [one for start in reference.strikes(_KILLS) for one in start] if reference else []
        for strike in planned:
            service.inject("kill-worker", f"op={strike.sequence}", gpu=strike.gpu)
        counts = Counts()
        records = _ended(lab, case, side, service, lambda: counts.take(service.status()))
        report = service.report()
    recoveries, fired = report["recoveries"], Counter(one["gpu"] for one in report["injected"])
    if bad := [one["outcome"] for one in recoveries if not one["outcome"].startswith("recovered")]:
        raise Wrong(f"{side}: {bad[0]}")
    if fired != Counter(strike.gpu for strike in planned) or len(recoveries) < bool(planned):
        raise Wrong(f"{side}: {dict(fired)} kills by GPU, of {len(planned)}, and {len(recoveries)} recoveries")
    return Side(records, counts, recoveries, fired.total())


def _ended(
    lab: Lab, case: Case, side: str, service: Service | None, step: Callable[[], object]
) -> list[dict[str, Any]]:
    """Runs all ranks to their end; what each has left. step is called whenever rank 0 tells of one."""
    out = lab.scratch()
    ranks = _ranks(lab, case, side, service, out)
    end = time.monotonic() + _LIMIT
    try:
        for program in ranks:  # those after the first say little
            while (line := program.line(max(1.0, end - time.monotonic()))) is not None:
                if line.startswith(_TOLD) and program is ranks[0]:
                    step()
        for program in ranks:
            program.close(10.0)
    finally:
        for program in ranks:
            program.close(0.0)
    if bad := [one for one in ranks if one.process.returncode]:
        if missing := [text for one in bad for text in one.said().splitlines() if text.startswith(_ABSENT)]:
            raise Absent(missing[0])
        said = [text for one in bad for text in one.said().splitlines() if text.startswith("jitc:")]
        raise Wrong(f"{side}: {bad[0].how_it_ended()} {' '.join(said[:2])}")
    return [json.loads((out / f"rank{rank}.json").read_text()) for rank in range(case.ranks)]


def _ranks(lab: Lab, case: Case, side: str, service: Service | None, out: Path) -> list[Program]:
    """Natively all ranks share GPU 0, and NCCL must take them for hosts of their own."""
    words = [str(PROGRAMS / f"{case.program}.py"), "--out", str(out), "--device", "cuda", *case.arguments]
    common = meeting(case.ranks) | {
        "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HOME": str(out),
        "TRITON_CACHE_DIR": str(out.parent / "triton"), "OUTCOME_DETERMINISTIC": "1", "OUTCOME_STEP_SECONDS": "0.1",
    }  # fmt: skip
    if service:
        common |= {"JITC_SOCKET": service.socket, "LD_PRELOAD": preload()}
    if lab.rehearsal:
        common |= dict(case.environment_variables)
    found = []
    for rank in range(case.ranks):
        own = {"RANK": str(rank), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(case.ranks)}
        if not service:
            own |= {"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1", "NCCL_HOSTID": f"native-{rank}"}
        found.append(lab.python(f"{side}-{rank}", words, lab.environment(**common, **own)))
    return found
