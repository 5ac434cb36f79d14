"""Which faults can be asked for, and where.

Called by: the jitc command, the fault desk, the Admin service. Promise: nobody gets a fault now who asked
for one later: a place that is none is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jitc.v1.control_pb2 import Fault

KINDS = (
    "kill-worker", "stop-worker", "sticky-error", "illegal-access", "endless-kernel", "hung-collective", "xid",
)  # fmt: skip
PHASES = ("forward", "backward", "optimizer", "collective", "copy", "boundary")
LONELY_SKIP = "skip counts the matching ops of a boundary or a phase, and none is named"


def misplaced(fault: Fault) -> str:
    """Why a fault's place is none; empty when it is one."""
    in_minibatch = bool(fault.boundary or fault.phase or fault.armed_at_boundary)
    if bool(fault.sequence) + bool(fault.operations) + in_minibatch > 1:
        return "an op, a number of ops and a place in a minibatch are three places; name one of them"
    if fault.skip and not in_minibatch:
        return LONELY_SKIP
    return ""
