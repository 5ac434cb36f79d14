"""Jobs that are not deterministic (`--noise`: sums in another order each time) come through, within a bound.

Numbers that differ in their replay are tolerated and reported; a difference in what steers the program never is.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from toolkit.job import Result, Script
from toolkit.jobs import JOBS
from toolkit.pace import PACED
from toolkit.peer_mode import PacedJob
from toolkit.record import Record, assert_identical
from toolkit.service import Service, kill_at
from toolkit.waiting import until
from toolkit.workplace import Workplace

from jitc.v1 import control_pb2

Reference = Callable[[Script, str], list[Record]]
#: Ends a job whose ranks do not hold the same after a step.
CHECKED = ("tests/end_to_end/replicas_agree.py",)
#: Ends a job whose device has counted otherwise than the program was told, and says how often it has.
ROUTED, ROUTED_LINE = ("tests/end_to_end/routing_agrees.py",), "routed as the program was told, {} times"
LAYERS = 2
SMALL = ("--layers", str(LAYERS), "--width", "64")
#: Of the first loss: by so much losses may differ. It is what is tolerated of one result in a replay (tolerance.py).
LOSS = 0.01
SCRIPTS = {
    "gpt": Script("train_gpt.py", SMALL, around=CHECKED),
    "cnn": Script("train_cnn.py", around=CHECKED),
    "cnn-amp": Script("train_cnn.py", ("--amp",), around=CHECKED),
    "fsdp": Script("train_fsdp.py", SMALL),
    "moe": Script("train_moe.py", SMALL, around=(*CHECKED, *ROUTED)),
}
#: The first boundary after which there is a fault, and those between two faults.
FIRST, APART = 2, 2
QUICK, ALL = 2, 20
SLOW = (pytest.mark.slow, pytest.mark.timeout(900))


def counts(*quick: str) -> list[Any]:
    """Jobs with how many kills: these few times in every run, all of them twenty times in the slow one."""
    few = [pytest.param(job, QUICK) for job in quick]
    return few + [pytest.param(job, ALL, marks=SLOW) for job in SCRIPTS if (job == "moe") == ("moe" in quick)]


def kills(count: int, seed: str) -> list[tuple[int, control_pb2.Fault]]:
    """GPU and place of each; the last one is in a step, so that the program has read its gradients by then."""
    source = random.Random(seed)
    phases = [source.choice(["forward", "backward", "optimizer"]) for _ in range(count - 1)] + ["optimizer"]
    return [(source.randrange(2), kill_at(FIRST + APART * number, phase, 3)) for number, phase in enumerate(phases)]


def service_with(workplace: Workplace, faults: list[tuple[int, control_pb2.Fault]], *options: str) -> Service:
    service = workplace.service(2, ("--noise", "5", "--spares", "2", *options))
    for gpu, fault in faults:
        workplace.note(f"fault on GPU {gpu}: {str(fault).strip()}")
        service.inject(fault, gpu)
    return service


def long_enough(script: Script, faults: int) -> Script:
    return script.with_arguments("--steps", str(FIRST + APART * faults + 2))


def run(workplace: Workplace, script: Script, service: Service, **env: str) -> Result:
    return workplace.job(script, service, **env).finish(400)


def assert_near(records: list[Record], undisturbed: list[Record]) -> None:
    for mine, other in zip(records, undisturbed, strict=True):
        pairs = list(zip(mine.values(), other.values(), strict=True))
        furthest = max(abs(one - another) for one, another in pairs)
        assert furthest <= LOSS * other.values()[0], f"rank {mine.rank}: {furthest} in {pairs}"


@pytest.mark.sampled
@pytest.mark.parametrize(("job", "count"), counts("cnn", "fsdp"))
def test_training_goes_on_within_the_bound(job: str, count: int, workplace: Workplace) -> None:
    script = long_enough(SCRIPTS[job], count)
    undisturbed = run(workplace, script, service_with(workplace, [])).successful().records
    service = service_with(workplace, kills(count, job))
    records = run(workplace, script, service).successful().records
    assert_near(records, undisturbed)
    report = service.survived(count)
    assert all(one["outcome"].startswith("recovered") for one in report), report
    assert service.divergences() == []
    if job in ("gpt", "cnn"):  # bfloat16 rounds most of it away
        inexact = [one for one in report if one["outcome"] == "recovered, not bit-identical"]
        assert inexact, report
        for one in inexact:
            assert 0 < one["differences"]["largest"] <= one["differences"]["bound"] <= 0.01, one


@pytest.mark.parametrize(("job", "count"), counts("moe"))
def test_what_steers_a_job_is_never_changed_silently(job: str, count: int, workplace: Workplace) -> None:
    """How many tokens each expert gets is known to the program. A replay that would count otherwise is none: what the
    device has counted in the end, in the replays that were taken, is what the program was told."""
    script = long_enough(SCRIPTS[job], count)
    service = service_with(workplace, kills(count, job))
    result = run(workplace, script, service)
    report = service.report()
    workplace.note("\n".join(f"{one['outcome']} after {one['attempts']} attempts: {one['cause']}" for one in report))
    if result.status == 0:
        times = LAYERS * (FIRST + APART * count + 2)
        assert result.output.count(ROUTED_LINE.format(times)) == script.ranks, result.output[-3000:]
        assert all(one["outcome"].startswith("recovered") for one in report), report
        assert sum(one["attempts"] for one in report) >= count, report  # a replay that went astray is one more
    else:
        assert "steers what the program does next" in result.output + str(report), result.output[-3000:]


def test_what_a_replay_would_steer_otherwise_ends_the_job(workplace: Workplace) -> None:
    """The program goes by digits that no replay gives again: it has its error then, and never another routing."""
    script, service = long_enough(SCRIPTS["moe"], 1), service_with(workplace, kills(1, "moe"))
    result = run(workplace, script, service, ROUTE_BY="last-digits")
    assert result.status != 0 and "routed" not in result.output, result.output[-3000:]
    until(lambda: bool(service.report()), 30, "the recovery is told of")
    [one] = service.report()
    # Either the limit of replays that go astray is reached first, or that of attempts that get no further.
    assert one["outcome"].startswith(("the program's own error", "given up")) and one["attempts"] > 1, one
    assert "replay-astray" in one["cause"] and "steers what the program does next" in one["message"], one


def test_strict_ends_the_job_loudly(workplace: Workplace) -> None:
    service = service_with(workplace, kills(1, "cnn"), "--replay-mismatch", "strict")
    result = run(workplace, long_enough(SCRIPTS["cnn"], 1), service)
    assert result.status != 0
    assert "gave another result in replay than before" in result.output + str(service.report())


@pytest.mark.sampled
def test_a_validation_measures(workplace: Workplace) -> None:
    """It finds the job not to be deterministic, ends nothing, and later bounds follow from it."""
    service = service_with(workplace, [])
    script = SCRIPTS["cnn"].with_arguments("--steps", "120")
    running = PacedJob(workplace, replace(script, around=(*script.around, *PACED)), service)
    running.go_to(2)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(service.validate, 0)
        running.go_until(asked.done, "the job is validated")
    verdict = asked.result()
    assert verdict["outcome"] == "different", verdict
    assert verdict["differences"]["results"] >= 2, verdict  # each rank's gradients, and perhaps its loss
    service.inject(control_pb2.Fault(kind="kill-worker", phase="optimizer", skip=3), 1)
    running.let_go()
    running.job.finish().successful()
    [report] = service.survived(1)
    expected = min(0.1, max(1e-4, 16 * verdict["differences"]["largest"]))
    assert report["differences"]["bound"] == pytest.approx(expected)


def test_without_noise_nothing_is_tolerated(workplace: Workplace, reference: Reference) -> None:
    script = JOBS["cnn"].with_arguments("--amp")
    expected = reference(script, "cuda")
    service = workplace.service(2)
    service.inject(kill_at(2, "backward", 3), 1)
    assert_identical(workplace.run(script, service).records, expected)
    [report] = service.survived(1)
    assert report["outcome"] == "recovered" and report["differences"]["bound"] == 0
