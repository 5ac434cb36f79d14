"""A device that refuses all work, whose memory can be read: its state is kept before its worker is ended.

In peer mode, where the newest boundary has no copies of what other ranks hold as well. Nothing comes from a peer then.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from dataclasses import replace

from toolkit.job import Script
from toolkit.jobs import JOBS
from toolkit.pace import PACED
from toolkit.peer_mode import PEERS, PacedJob, boundary_of
from toolkit.record import Record, assert_identical
from toolkit.service import kill_at
from toolkit.waiting import stop_process, until
from toolkit.workplace import Workplace

from jitc.v1 import control_pb2

Reference = Callable[[Script, str], list[Record]]
Property = Callable[[str, object], None]
SCRIPT = replace(JOBS["gpt"].with_arguments("--steps", "80"), around=PACED)
GPU = 1
#: Boundaries after which peers are relied on for the newest one.
LATER = 3
READ_OUT = "bytes were read out of its worker before it was ended"


def read_out(text: str) -> int:
    """Bytes that rank 1 has kept, in a report's note or the service's output."""
    found = re.search(rf"rank 1 \(pid \d+\): (\d+) {READ_OUT}", text)
    assert found, text
    return int(found[1])


def test_no_replica_is_needed(workplace: Workplace, reference: Reference, record_property: Property) -> None:
    expected = reference(SCRIPT, "cuda")
    service = workplace.service(2)
    running = PacedJob(workplace, SCRIPT, service)
    running.until_settled(PEERS)
    running.go_to(running.granted + LATER)
    at, before = boundary_of(service), service.worker_pid(GPU)
    service.inject(kill_at(at, "backward", 3, kind="sticky-error"), GPU)
    running.let_go()
    records = running.job.finish().successful().records
    [found] = service.survived(1)
    assert (found["cause"], found["outcome"]) == ("sticky-error", "recovered"), found
    assert (found["decision"], found["boundary"]) == ("roll-back", at), found
    assert found["bytes_from_peers"] == {"nccl": 0, "host": 0}, found
    [note] = [one for one in found["notes"] if READ_OUT in one]
    assert read_out(note) > 0, note
    record_property("seconds", found["seconds"])
    assert service.worker_pid(GPU) != before
    assert_identical(records, expected)


def test_peer_that_has_the_replicas_is_lost_in_the_same_moment(workplace: Workplace, reference: Reference) -> None:
    """It keeps nothing itself: it is stopped before, and then killed. Its state comes from what the sick one kept."""
    expected = reference(SCRIPT, "cuda")
    service = workplace.service(2)
    running = PacedJob(workplace, SCRIPT, service)
    running.until_settled(PEERS)
    running.go_to(running.granted + LATER)
    peer = service.worker_pid(0)
    assert peer is not None
    stop_process(peer)
    service.inject(control_pb2.Fault(kind="sticky-error"), GPU)
    until(lambda: READ_OUT in service.said(), 30, "the sick worker has kept its state")
    assert read_out(service.said()) > 0, service.said()
    os.kill(peer, signal.SIGKILL)
    running.let_go()
    records = running.job.finish().successful().records
    [found] = service.report()
    assert found["outcome"] == "recovered", found
    assert found["bytes_from_peers"]["host"] > 0, "the peer's replicas"
    assert_identical(records, expected)
