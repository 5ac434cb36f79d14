"""Real jobs run a minibatch twice when asked, with both ways of keeping state; nothing of it shows in their results."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from toolkit.job import Script
from toolkit.jobs import JOBS, LONG_STEPS
from toolkit.record import Record, assert_identical
from toolkit.waiting import until
from toolkit.workplace import Workplace

QUICK = ("gpt",)
#: Validations one after the other: the service gets to know replicas meanwhile.
TIMES, STEPS = 3, 2 * LONG_STEPS


@pytest.mark.parametrize("job", [pytest.param(job, marks=() if job in QUICK else pytest.mark.slow) for job in JOBS])
def test_a_job_is_the_same_twice(
    job: str, workplace: Workplace, reference: Callable[[Script, str], list[Record]]
) -> None:
    script = JOBS[job].with_arguments("--steps", str(STEPS))
    expected = reference(script, "cuda")
    service = workplace.service(script.ranks)
    running = workplace.job(script, service)
    until(lambda: running.steps() >= 2, 60, "two steps")
    for number in range(TIMES):
        verdict = service.validate(number % script.ranks)
        workplace.note(f"validation: {verdict}")
        assert verdict["outcome"] == "identical", verdict
        assert verdict["gpus"] == list(range(script.ranks))
        assert verdict["blocks"] > 20, verdict
    assert_identical(running.finish().successful().records, expected)
    assert service.report() == []
