"""A faulty connection between ranks whose GPUs are fine: nothing is replaced, and only the minibatch is done again."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from toolkit.job import Script
from toolkit.jobs import JOBS
from toolkit.pace import PACED
from toolkit.peer_mode import PEERS, PacedJob, boundary_of
from toolkit.record import Record, assert_identical
from toolkit.service import Service, kill_at
from toolkit.workplace import Workplace

Reference = Callable[[Script, str], list[Record]]
Property = Callable[[str, object], None]
GPU = 1


def workers(service: Service) -> list[Any]:
    return [one["worker_pid"] for gpu in service.status()["gpus"] for one in gpu["sessions"]]


def copies(service: Service) -> int:
    """Host memory that copies of live memory take."""
    return sum(one["copies_bytes"] for gpu in service.status()["gpus"] for one in gpu["sessions"])


def assert_link_was_mended(service: Service, before: list[Any], after: list[Any]) -> dict[str, Any]:
    [found] = service.survived(1)
    assert (found["cause"], found["outcome"]) == ("collective-error", "recovered"), found
    assert "the connection to the other ranks is cut" in found["message"]
    assert before == after, "no worker is replaced"
    assert not any(one["lost"] for one in found["ranks"] + found["standings"]), found
    assert found["bytes_from_peers"] == {"nccl": 0, "host": 0}, found
    return found


@pytest.mark.parametrize("line", ["", pytest.param(PEERS, marks=pytest.mark.slow)])
def test_link_that_is_cut(line: str, workplace: Workplace, reference: Reference, record_property: Property) -> None:
    """With copies of everything, and when peers give back what they hold."""
    script = replace(JOBS["gpt"].with_arguments("--steps", "80" if line else "8"), around=PACED)
    expected = reference(script, "cuda")
    service = workplace.service(2)
    running = PacedJob(workplace, script, service)
    if line:
        running.until_settled(line)
    else:
        running.go_to(3)
    at, before = boundary_of(service), workers(service)
    service.inject(kill_at(at, "collective", kind="cut-link"), GPU)
    running.go_to(running.granted + 2)
    after, kept = workers(service), copies(service)
    running.let_go()
    records = running.job.finish().successful().records
    found = assert_link_was_mended(service, before, after)
    record_property("seconds", found["seconds"])
    assert (found["decision"], found["boundary"]) == ("roll-back", at), found
    assert found["bytes_restored"] < kept / 4, "weights and optimizer state are where they were"
    assert_identical(records, expected)


def test_link_that_is_slow_is_no_fault(workplace: Workplace, reference: Reference) -> None:
    expected = reference(JOBS["gpt"], "cuda")
    service = workplace.service(2)
    with ThreadPoolExecutor(1) as pool:
        fired = pool.submit(service.inject, kill_at(2, "collective", kind="slow-link"), GPU, 100)
        records = workplace.run(JOBS["gpt"], service).records
    assert fired.result().fired, fired.result()
    assert service.report() == []
    assert_identical(records, expected)
