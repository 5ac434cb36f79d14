"""A worker lost at every op of a step, on each rank, one op after the other in one job: nothing changes.

test_faults.py samples places in several jobs; here no op of a step is left out. Fault number k comes before the k-th op
of a minibatch of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import pytest
from toolkit.job import Script
from toolkit.pace import PACED
from toolkit.peer_mode import PacedJob
from toolkit.record import Record, assert_identical
from toolkit.service import RECOVERY_SECONDS, Service, kill_at
from toolkit.share import Share
from toolkit.waiting import until
from toolkit.workplace import Workplace

Reference = Callable[[Script, str], list[Record]]
SMALL = ("--layers", "1", "--width", "32", "--batch", "2")
#: Boundaries before the first fault: memory is measured, the first classes are found.
FIRST = 8
#: Boundaries from one fault to the next, which hits the other rank.
GAP = 2
SECONDS = 1200.0
WHOLE = Share(0, 1)
#: A fault on each rank in one attempt, which a minibatch that is run twice makes possible, could not be counted.
NO_VALIDATION = ("--validate-every", "0")


class Case(NamedTuple):
    """A job, and a number of ops that each of its minibatches has at least. They have at most a tenth more."""

    script: str
    options: tuple[str, ...]
    ops: int
    skipped: int = 0  # of its steps, by GradScaler: they end with no boundary


CASES = {
    "gpt": Case("train_gpt.py", SMALL, 125),
    "cnn": Case("train_cnn.py", (), 95),
    "amp": Case("train_amp.py", SMALL, 170, 300),
    "accumulate": Case("train_accumulate.py", SMALL, 330),
    "fsdp": Case("train_fsdp.py", SMALL, 180),
}


def places(ops: int, first: int, share: Share = WHOLE) -> list[tuple[int, int, int]]:
    """(rank, boundary, op after it) of each fault; the last ones are beyond the end of a step."""
    hit = range(share.number, ops + ops // 10 + 5, share.of)
    return [(rank, first + (2 * place + rank) * GAP, op) for place, op in enumerate(hit) for rank in range(2)]


def boundaries_hit(service: Service, gpu: int) -> set[int]:
    """Of the faults on this GPU that have fired."""
    found = [re.search(r"after boundary (\d+)", one["detail"]) for one in service.injected() if one["gpu"] == gpu]
    return {int(one[1]) for one in found if one}


def all_hit(service: Service, ops: int, armed: list[tuple[int, int, int]]) -> int:
    """That every op of a step was hit on both ranks, and none after its end; how many faults that were."""
    fired = 0
    for rank in range(2):
        hit = boundaries_hit(service, rank)
        missed = [op for whose, boundary, op in armed if whose == rank and boundary not in hit]
        assert not [op for op in missed if op < ops], f"no worker of rank {rank} was lost at ops {missed}"
        assert missed, f"steps of rank {rank} have more ops than {armed[-1][2]}"
        fired += len(hit)
    return fired


@pytest.mark.timeout(SECONDS)
@pytest.mark.parametrize("job", [pytest.param(one, marks=() if one == "gpt" else pytest.mark.slow) for one in CASES])
def test_worker_lost_at_every_op(
    job: str, workplace: Workplace, reference: Reference, request: pytest.FixtureRequest
) -> None:
    """--sample K/4: at every fourth op, from the K-th on."""
    case = CASES[job]
    armed = places(case.ops, FIRST, request.config.getoption("--sample") or WHOLE)
    script = Script(case.script, (*case.options, "--steps", str(armed[-1][1] + GAP + case.skipped)))
    expected = reference(script, "cuda")
    service = workplace.service(2, NO_VALIDATION)
    for rank, boundary, op in armed:
        service.inject(kill_at(boundary, "", op), rank)
    records = workplace.run(script, service, SECONDS).records
    fired = all_hit(service, case.ops, armed)
    recovered = service.report()
    assert {one["outcome"] for one in recovered} == {"recovered"}
    # A fault that comes before the recovery of the one before is over belongs to it, as one more attempt.
    assert len(recovered) <= fired <= sum(one["attempts"] for one in recovered)
    assert_identical(records, expected)


@pytest.mark.slow
@pytest.mark.timeout(SECONDS)
@pytest.mark.parametrize("lost", [0, 1])
def test_every_op_of_ranks_on_one_gpu(lost: int, workplace: Workplace, reference: Reference) -> None:
    """Two ranks on the GPU that is left; the worker of the older session is lost: at home it is, or re-homed."""
    case = CASES["gpt"]
    first, ops = 2 * FIRST, case.ops
    armed = places(ops, first)
    script = Script(case.script, (*case.options, "--steps", str(armed[-1][1] + GAP)), around=PACED)
    service = workplace.service(2)
    service.inject(kill_at(FIRST, "backward", 3, kind="lose-gpu"), lost)
    running = PacedJob(workplace, script, service)
    running.go_to(1)
    running.go_to(FIRST + 2)  # it stands still until all faults are armed
    left = 1 - lost
    until(lambda: service.hosts() == {0: left, 1: left}, RECOVERY_SECONDS, "both ranks are on one GPU")
    mine = [one for one in armed if one[0] == 0]
    for _, boundary, op in mine:
        service.inject(kill_at(boundary, "", op), left)
    running.let_go()
    records = running.job.finish(SECONDS).successful().records
    hit = boundaries_hit(service, left)
    missed = [op for _, boundary, op in mine if boundary not in hit]
    assert missed, "steps have more ops than expected"
    assert min(missed) >= ops, f"no worker was lost at ops {missed}"
    assert {one["outcome"] for one in service.report()} == {"recovered"}
    assert_identical(records, reference(script, "cuda"))
