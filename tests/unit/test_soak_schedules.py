"""The schedules of `make soak`'s random faults: equal seeds give equal ones, and all kinds of events come up."""

from __future__ import annotations

from soak import schedules
from soak.chaos import ChaosJob
from soak.schedules import schedule
from soak.ways import WAYS
from toolkit.jobs import JOBS

from jitc.ops.faults import KINDS


def test_equal_seeds_give_equal_schedules_and_others_do_not() -> None:
    assert [schedule(seed, 2) for seed in range(50)] == [schedule(seed, 2) for seed in range(50)]
    assert len({tuple(schedule(seed, 2)) for seed in range(50)}) == 50


def test_all_that_can_happen_does() -> None:
    happened = {one.what for seed in range(300) for one in schedule(seed, 2)}
    assert happened >= {*schedules.IN_WORKERS, *schedules.AT_ONCE, *schedules.OTHERS, schedules.RETURN}
    refused = {"illegal-access"}  # by the software device
    assert {*KINDS} - refused >= {*schedules.IN_WORKERS, *schedules.AT_ONCE, schedules.LOSE}


def test_they_end_within_the_job_and_a_gpu_is_never_lost_twice() -> None:
    for seed in range(300):
        found = schedule(seed, 2)
        assert [one.step for one in found] == sorted(one.step for one in found)
        assert found[0].step >= schedules.FIRST and found[-1].step < schedules.STEPS + 32
        lost = [one for one in found if one.what in (schedules.LOSE, schedules.RETURN)]
        assert [one.what for one in lost] == [schedules.LOSE, schedules.RETURN] * (len(lost) // 2)
        pairs = zip(lost[::2], lost[1::2], strict=True)
        assert all(away.gpu == back.gpu for away, back in pairs)


def test_only_jobs_that_take_faults_run_in_that_way() -> None:
    (way,) = [one for one in WAYS if one.under_faults]
    assert way.seeded
    assert ChaosJob("one", JOBS["gpt"]).under_faults
