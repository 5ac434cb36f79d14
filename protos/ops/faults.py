"""The kinds of fault that can be injected: which part carries each out, and where.

This is the only description: C++ (``generated_faults.h``), the command's help and the table in ``docs/cli.md`` are
generated from it. Called by: the jitc command, the fault injector, the Admin service, the generator. Promise: a fault
with a trigger never fires at once: a meaningless trigger is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jitc.ops import table, traits

if TYPE_CHECKING:
    from jitc.v1.control_pb2 import Fault

#: Who carries a fault out: a signal to the worker's process, all of the worker's sessions, the device right before an
#: op, or the service, which behaves as if it had got a report.
CARRIERS = ("signal", "sessions", "device", "service")


@dataclass(frozen=True)
class Kind:
    """A kind of fault, as users name it; for what each device does with it see the table in docs/cli.md."""

    name: str
    carrier: str
    what: str
    software: str = "yes"
    cuda: str = "yes"
    signal: str = ""
    """Name of the signal, for the carrier of that name."""
    collective: bool = False
    """It waits for an op that is a collective."""
    harmless: bool = False
    """No recovery comes of it, so that none counts from when it fired."""


FAULTS = (
    Kind(
        "kill-worker", "signal", signal="SIGKILL",
        what="the worker's process is killed (SIGKILL); without a trigger those of all programs on the GPU",
    ),
    Kind(
        "crash-worker", "signal", signal="SIGSEGV",
        what="it crashes (SIGSEGV), with a core dump where `--core-limit` allows one",
    ),
    Kind(
        "stop-worker", "signal", signal="SIGSTOP",
        what="it is stopped (SIGSTOP); noticed by its peers, or after `--hang-seconds`",
    ),
    Kind(
        "sticky-error", "sessions",
        what="every op fails with an illegal access from now on, as the worker reports",
    ),
    Kind(
        "illegal-access", "device", software="refused",
        what="a kernel stores to address 16 on the op's stream",
    ),
    Kind(
        "endless-kernel", "device", software="the op never ends",
        what="a kernel that never ends runs on the op's stream; noticed as above",
    ),
    Kind(
        "hung-collective", "device", collective=True,
        what="the op's stream stalls before a collective; noticed as above",
    ),
    Kind(
        "cut-link", "device", collective=True,
        what="at a collective the rank loses its connection to the others, in the middle of it",
    ),
    Kind(
        "slow-link", "device", collective=True, harmless=True, cuda="refused",
        what="from the next collective on, each round on the rank's communicator takes 50 ms longer; this must not "
        "start a recovery",
    ),
    Kind(
        "xid", "service",
        what="the service behaves as if NVML had reported an Xid of the device: all workers of the physical GPU are "
        "replaced",
    ),
    Kind(
        "lose-gpu", "service",
        what="the service behaves as if NVML had reported that the GPU is lost: its sessions move to another one, "
        "until `jitc gpu return`",
    ),
)  # fmt: skip
KINDS = tuple(one.name for one in FAULTS)
#: Where in a minibatch: in which phase an op is, or the point that it passes.
OP_PHASES, POINTS = table.ENUMS["Phase"], traits.ENUMS["Point"][1:]
PHASES = (*OP_PHASES, *POINTS)
LONELY_SKIP = "skip counts the matching ops of a boundary or a phase, and none is named"


def wrong_trigger(fault: Fault) -> str:
    """Returns why a fault's trigger is meaningless; empty if it is not."""
    in_minibatch = bool(fault.boundary or fault.phase or fault.armed_at_boundary)
    if bool(fault.sequence) + bool(fault.operations) + in_minibatch > 1:
        return "an op, a number of ops and a point in a minibatch are three triggers; name one of them"
    if fault.skip and not in_minibatch:
        return LONELY_SKIP
    return ""
