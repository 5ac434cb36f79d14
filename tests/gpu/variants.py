"""A step that failed runs again otherwise, so that one check says which part it was: with launches that block, then
with all other variants at once, and where that passes, with each of them.

Called by: check.py. Promises: the step's verdict stays that of its first run; what the others came to is beside it
(`data.variants`), and their logs are in the step's folder. They take no time that later steps need at least.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .plan import JITC, Step
from .results import PASSED

#: What every process of the step then has in its environment: of the driver, and of jitc (docs/cli.md). Launches that
#: block are none of what is tried at once: a worker that stands in one answers nobody, which may fail by itself.
BLOCKING = {"blocking launches": {"CUDA_LAUNCH_BLOCKING": "1"}}
OTHERS: dict[str, dict[str, str]] = {
    "eager loading": {"CUDA_MODULE_LOADING": "EAGER"},
    "plain copies": {"JITC_PLAIN_COPIES": "1"},
    "a mark per op": {"JITC_MARK_EVERY_OP": "1"},
}
ALL = "all others"
#: That run also has this: libraries say more of what they do.
_SAID = {"NCCL_DEBUG": "INFO"}

#: Verdict and reason of a run of the step with this environment, and its seconds.
Run = Callable[[str, Mapping[str, str], float], tuple[str, str, float]]


def again(step: Step, run: Run, seconds: Callable[[], float]) -> Iterator[list[dict[str, Any]]]:
    """Runs it while there is time (seconds: what is left for that); after each run, what all of them came to."""
    if JITC not in step.needs:
        return  # it is below jitc
    together = _SAID | {name: value for one in OTHERS.values() for name, value in one.items()}
    found: list[dict[str, Any]] = []
    for variant, environment in (*BLOCKING.items(), (ALL, together), *OTHERS.items()):
        left = min(step.most, seconds())
        if left < step.least:
            return
        verdict, reason, took = run(variant, environment, left)
        found.append({"variant": variant, "verdict": verdict, "reason": reason, "seconds": round(took, 1)})
        yield found
        if variant == ALL and verdict != PASSED:
            return  # it is none of them
