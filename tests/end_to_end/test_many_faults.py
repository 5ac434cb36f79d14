"""Twenty workers lost in one job, at random ops of both ranks, over the change from copies to peers.

test_faults.py looks at one fault per job and knows its place; here faults meet state that earlier recoveries left
behind: rebuilt workers, boundaries half made, classes measured again.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from toolkit.job import Script
from toolkit.jobs import JOBS, LONG_OPS, LONG_STEPS
from toolkit.record import Record, assert_identical
from toolkit.service import Service, kill_at_op
from toolkit.workplace import Workplace

from jitc.v1 import control_pb2

FAULTS = 20
SECONDS = 120.0
QUICK = ("gpt", "fsdp")


def places(job: str) -> list[tuple[int, int]]:
    """(GPU, op) of each fault: one in every twentieth of the run, the same in every run of the tests."""
    source = random.Random(f"many faults in {job}")
    share = LONG_OPS[job] // FAULTS
    return [(source.randrange(2), source.randrange(part * share + 1, (part + 1) * share)) for part in range(FAULTS)]


@pytest.mark.parametrize("job", [pytest.param(job, marks=() if job in QUICK else pytest.mark.slow) for job in JOBS])
def test_many_faults(job: str, workplace: Workplace, reference: Callable[[Script, str], list[Record]]) -> None:
    script = JOBS[job].with_arguments("--steps", str(LONG_STEPS))
    expected = reference(script, "cuda")
    service = workplace.service(script.ranks)
    with ThreadPoolExecutor(FAULTS) as pool:
        fired = [pool.submit(armed, workplace, service, gpu, op) for gpu, op in places(job)]
        records = workplace.run(script, service).records
    assert all(one.result().fired for one in fired), [one.result().detail for one in fired]
    assert_identical(records, expected)


def armed(workplace: Workplace, service: Service, gpu: int, op: int) -> control_pb2.InjectReply:
    """Waits until the fault has fired."""
    reply = service.inject(kill_at_op(op), gpu, wait=SECONDS)
    workplace.note(f"kill-worker on GPU {gpu} at op {op}: {reply.detail}")
    return reply
