"""The service is killed, or replaced, at any moment of a job: the next one goes on, and nothing of the job differs.

Real services in processes of their own, real workers; two ranks in this process. A service that is to die kills
itself at a record of its log (dying_proxyd.py), in the start of the job, in a recovery, or at its end; another is
started then.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import pytest
from client_rig import check, train
from proxyd_rig import DYING, PLAIN, Proxyd, at_records, close, trains_through_a_loss, worker_of
from toolkit.service import OTHER_VERSION
from toolkit.waiting import until

pytestmark = pytest.mark.timeout(150)
QUICK = {15, 20, 24, 30, 36}


@pytest.mark.parametrize(("count", "when"), at_records(QUICK))
@pytest.mark.sampled
def test_killed_at_a_record(count: int, when: str, proxyd: Proxyd) -> None:
    """Wherever it dies: two ranks begin, train, lose a worker and train on, and end with what they should have."""
    first = proxyd.start([*DYING, str(count), when])
    proxyd.follow(first)
    trains_through_a_loss(proxyd)
    assert proxyd.died.wait(30), f"there are fewer records than {count}"


def test_worker_lost_without_a_service(proxyd: Proxyd) -> None:
    first, ranks = proxyd.begin()
    train(ranks, 2)
    first.kill()
    first.wait()
    train(ranks, 1)
    check(ranks, 3)  # nothing of the job needs the service
    os.kill(worker_of(ranks[0]), signal.SIGKILL)
    proxyd.ready(proxyd.start(PLAIN))
    train(ranks, 1)
    check(ranks, 4)
    (recovery,) = until(lambda: proxyd.recoveries() or None, 30, "the recovery is over")
    assert (recovery["cause"], recovery["outcome"], recovery["gpu"]) == ("worker-death", "recovered", 0)
    close(ranks)


def without_proofs(reports: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those go on after the report."""
    return [{name: value for name, value in one.items() if name != "proof"} for one in reports]


def test_replaced_under_a_job(proxyd: Proxyd) -> None:
    """The one before ends by itself, and its reports are still there."""
    _, ranks = proxyd.begin()
    train(ranks, 1)
    os.kill(worker_of(ranks[0]), signal.SIGKILL)
    check(ranks, 1)
    before = until(lambda: proxyd.recoveries() or None, 30, "the recovery is over")
    for steps in (2, 3):
        proxyd.ready(proxyd.start(PLAIN, "--replace"))
        train(ranks, 1)
        check(ranks, steps)
        assert proxyd.processes[-2].wait(30) == 0
        assert without_proofs(proxyd.recoveries()) == without_proofs(before)
        assert proxyd.counted() == [1, 0]
    os.kill(worker_of(ranks[1]), signal.SIGKILL)
    train(ranks, 1)
    check(ranks, 4)
    close(ranks)


def test_one_that_does_not_answer_is_replaced(proxyd: Proxyd, monkeypatch: pytest.MonkeyPatch) -> None:
    first, ranks = proxyd.begin()
    train(ranks, 1)
    first.send_signal(signal.SIGSTOP)
    proxyd.ready(proxyd.start(PLAIN, "--replace"))
    assert first.wait(30) == -signal.SIGKILL
    train(ranks, 1)
    check(ranks, 2)
    close(ranks)


def test_other_options_and_a_second_service_are_refused(proxyd: Proxyd) -> None:
    first, ranks = proxyd.begin()
    train(ranks, 1)
    refused = proxyd.start(PLAIN)
    assert refused.wait(60) == 1
    assert "already serves" in proxyd.log.read_text()
    first.kill()
    first.wait()
    for option, text in ((("--gpus", "1"), "--gpus 2, not 1"), (("--shuffle", "3"), "--shuffle 0, not 3")):
        refused = proxyd.start(PLAIN, *option)
        assert refused.wait(60) == 1
        assert text in proxyd.log.read_text()
    proxyd.ready(proxyd.start(PLAIN))
    train(ranks, 1)
    check(ranks, 2)
    close(ranks)


def test_without_sessions_options_may_change_at_once(proxyd: Proxyd) -> None:
    """What a killed service without jobs has left binds nobody."""
    for number in ("1", "2", "1"):
        process = proxyd.start(PLAIN, "--gpus", number)
        proxyd.ready(process)
        process.kill()
        process.wait()
    proxyd.ready(proxyd.start(PLAIN))


def test_replaced_while_it_drains(proxyd: Proxyd) -> None:
    first, ranks = proxyd.begin()
    first.terminate()
    until(lambda: "stopping; 2 sessions" in proxyd.log.read_text(), 30, "it waits for its sessions")
    proxyd.ready(proxyd.start(PLAIN, "--replace"))
    assert first.wait(30) == 0
    train(ranks, 1)
    check(ranks, 1)
    close(ranks)


def test_another_version_is_refused(proxyd: Proxyd) -> None:
    """And everything stays as it is."""
    first, ranks = proxyd.begin()
    other = [sys.executable, "-c", OTHER_VERSION]
    for options in ((), ("--replace",)):
        assert proxyd.start(other, *options).wait(60) == 1
        assert "another version of jitc serves" in proxyd.log.read_text()
        train(ranks, 1)
    first.kill()
    first.wait()
    assert proxyd.start(other).wait(60) == 1
    proxyd.ready(proxyd.start(PLAIN))
    train(ranks, 1)
    check(ranks, 3)
    close(ranks)
