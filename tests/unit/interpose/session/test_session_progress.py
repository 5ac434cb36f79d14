"""What a caller was told once is known to all, at once and for good: no later report of the worker is needed for it.

The worker of these tests reports no progress. ``native/progress_cases.cpp`` has what follows from what.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from standin_node import DEVICE_SYNCHRONIZE, EVENT_SYNCHRONIZE, RESTORED, STREAM_SYNCHRONIZE, Node, completion

Start = Callable[..., Any]


@pytest.fixture(autouse=True)
def silent(node: Node) -> None:
    node.script.withhold_progress = True


def test_an_event_that_was_waited_for_is_done(node: Node, client: Start) -> None:
    client("""
s = Session()
for n in range(100):
    before, event, after = s.submit(b"x", 5), s.record(7, 5), s.submit(b"y", 5)
    assert not s.executed(event, 5)
    assert s.synchronize_event(7) == 0
    assert s.executed(before, 5) and s.executed(event, 5) and not s.executed(after, 5), n
    assert s.last(5) == after
""").finish()


def test_a_read_shows_its_stream(node: Node, client: Start) -> None:
    client("""
s = Session()
event = s.record(7, 5)
assert s.call(b"what???_", 5) == (0, b"what???_")
assert s.executed(event, 5) and s.executed(s.last(5), 5)
""").finish()


def test_a_wait_between_streams_is_known_through(node: Node, client: Start) -> None:
    client("""
s = Session()
event, later = s.record(7, 5), s.submit(b"x", 5)
s.wait(7, 6); s.record(8, 6); s.wait(8, 9)
assert s.synchronize(9) == 0
assert s.executed(event, 5) and not s.executed(later, 5)
""").finish()


def test_bytes_are_there_before_the_copy_is_known_to_be_done(node: Node, client: Start) -> None:
    """On the copy's own stream, and on one that waited for it."""
    client("""
s = Session()
seen = []
def heard(tag, status, payload):
    seen.append((tag, s.executed(tag, 5), s.executed(tag + 1, 5)))
first = s.receive(1, heard, 5)
event = s.record(7, 5); s.wait(7, 6)
assert s.synchronize(6) == 0
assert seen == [(1, False, False)] and s.executed(event, 5), seen
""").finish()


def test_another_thread_knows_it_too(node: Node, client: Start) -> None:
    client("""
s = Session()
wrong = []
for n in range(50):
    event = s.record(7, 5)
    told_to = threading.Event()
    def other():
        told_to.wait(20)
        if not s.executed(event, 5): wrong.append(n)
    thread = threading.Thread(target=other); thread.start()
    assert s.synchronize_event(7) == 0
    told_to.set(); thread.join()
assert not wrong, wrong
""").finish()


def test_what_failed_shows_nothing(node: Node, client: Start) -> None:
    waits = (EVENT_SYNCHRONIZE, STREAM_SYNCHRONIZE, DEVICE_SYNCHRONIZE)
    node.script.status = lambda record: 1 if record.op in waits else 0
    client("""
s = Session()
event = s.record(7, 5)
assert s.synchronize_event(7) == s.synchronize(5) == s.device_synchronize() == 1
assert not s.executed(event, 5)
""").finish()


def test_it_is_known_without_a_worker_and_with_the_next(node: Node, client: Start) -> None:
    running = client("""
s = Session()
event, other = s.record(7, 5), s.record(8, 6)
assert s.synchronize_event(7) == 0
told("known"); go()
assert s.executed(event, 5) and not s.executed(other, 6)
told("alone"); go()
assert s.call(b"again___", 9) == (0, b"again___")
assert s.executed(event, 5) and not s.executed(other, 6)
""")
    assert running.hear() == "known"
    node.stop_worker()
    running.go()
    assert running.hear() == "alone"
    node.start_worker()
    running.go()
    running.finish()
    assert len(node.opened) == 2


def test_a_restored_state_is_known_of_streams_that_are_gone(node: Node, client: Start) -> None:
    """A worker that restored a state knows the streams of that state alone; those of before have done all the same."""
    running = client("""
s = Session()
event = s.record(7, 5)
assert s.call(b"one_____", 9) == (0, b"one_____")
later = s.record(7, 5)
told("ready"); go()
until(lambda: s.poll() or s.executed(event, 5), 20, "the restored state")
assert not s.executed(later, 5)
""")
    assert running.hear() == "ready"
    node.stop_worker()
    node.script.first = completion(RESTORED, sequence=2) + completion(77, sequence=3)  # passed over, as it is unknown
    node.start_worker()
    running.go()
    running.finish()
