"""The steps: a function each, which takes the lab and gives what it found, or raises a verdict other than passed.

Called by: step.py, each in a process of its own. They are listed in plan.py.
"""

from __future__ import annotations

from typing import Any

#: What a fault of each kind is noticed as, where that is not its name.
CAUSES = {"kill-worker": "worker-death", "illegal-access": "sticky-error", "endless-kernel": "hung-kernel"}


def fault_verdict(recoveries: list[dict[str, Any]], difference: str, kind: str = "kill-worker") -> str:
    """What is wrong with a run with a fault of this kind, or nothing. difference: what is wrong with its results."""
    if not recoveries:
        return "the fault did not fire, or nobody noticed"
    if any(not one["outcome"].startswith("recovered") for one in recoveries):
        return str(recoveries[-1]["outcome"])
    cause = CAUSES.get(kind, kind)
    other = [one["cause"] for one in recoveries if cause not in one["cause"].split(", ")]
    if other:
        return f"the cause is {other[0]}, not {cause}"
    return f"recovered, but {difference}" if difference else ""
