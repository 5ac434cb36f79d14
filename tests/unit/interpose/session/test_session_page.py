"""The progress page: what a client reads there it knows without a message, and says before anything else that it sends.

The worker of these tests reports no progress in messages; the test writes the page.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fake_node import BASE, FAULT, KNOWN, Cut, Node, Record, completion
from toolkit.progress_page import RESERVED, Page, Place
from toolkit.waiting import until

Start = Callable[..., Any]
STREAM, OTHER = 5 << 16, 6 << 16
SAME_PLACE = STREAM + (1022 << 16)
TOKEN = f"{1:032x}"  # of the first session


@pytest.fixture
def pinned() -> Iterator[int]:
    fd = os.memfd_create("test-pinned", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, RESERVED + 4096)
    os.pwrite(fd, TOKEN.encode(), 0)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    yield fd
    os.close(fd)


@pytest.fixture
def page(node: Node, pinned: int) -> Page:
    node.script.withhold_progress = True
    path = f"/proc/{os.getpid()}/fd/{pinned}"
    node.pinned = {"pinned_path": path, "pinned_base": BASE >> 1, "pinned_bytes": RESERVED + 4096}
    return Page(pinned)


def known(journal: list[Record]) -> list[tuple[int, int, int]]:
    """Sequence of each such op, and what it says."""
    numbers = [(one.sequence, one.body) for one in journal if one.op == KNOWN]
    return [(at, int.from_bytes(body[:8], "little"), int.from_bytes(body[8:16], "little")) for at, body in numbers]


def test_a_query_reads_it(node: Node, page: Page, client: Start) -> None:
    running = client(f"""
s = Session()
first, second = s.submit(b"x", {STREAM}), s.submit(b"y", {STREAM})
assert not s.executed_by_now(first, {STREAM})
told("asked"); go()
assert s.executed_by_now(first, {STREAM}) and s.executed(first, {STREAM})
assert not s.executed_by_now(second, {STREAM})
s.call(b"after___")
""")
    assert running.hear() == "asked"
    page.publish(STREAM, 1)
    running.go()
    running.finish()
    assert known(node.journal) == [(3, STREAM, 1)] and len(node.journal) == 4  # before what the program did next


def test_what_is_known_is_said_once(node: Node, page: Page, client: Start) -> None:
    page.publish(STREAM, 7)
    client(f"""
s = Session()
for n in range(7): s.submit(b"x", {STREAM})
assert all(s.executed_by_now(n, {STREAM}) for n in (3, 1, 7, 2)) and s.wait_executed(7, {STREAM})
s.call(b"after___")
""").finish()
    assert known(node.journal) == [(8, STREAM, 7)]


def test_a_wait_sleeps_until_it_is_there(node: Node, page: Page, client: Start) -> None:
    running = client(f"""
s = Session()
at = s.submit(b"x", {STREAM})
assert s.wait_executed(at, {STREAM})
s.call(b"after___")
""")
    until(lambda: page.place(STREAM).sleepers == 1, 20, "the sleeper")
    node.wait_journal(1)  # what it waits for was sent
    assert page.sleepers() == 1
    page.publish(STREAM, 1)
    running.finish()
    assert page.place(STREAM).sleepers == page.sleepers() == 0
    assert known(node.journal) == [(2, STREAM, 1)]


def test_a_sleeper_that_nobody_wakes_looks_by_itself(node: Node, page: Page, client: Start) -> None:
    """As after a worker that ended between the number and the call, or a place that another stream has."""
    running = client(f"assert Session().wait_executed(1, {STREAM})")
    until(lambda: page.sleepers() == 1, 20, "the sleeper")
    page.publish(STREAM, 1, wake=False)
    running.finish()


def test_a_message_ends_the_sleep_too(node: Node, page: Page, client: Start) -> None:
    node.script.withhold_progress = False
    client(f"""
s = Session()
assert s.wait_executed(s.submit(b"x", {STREAM}), {STREAM})
s.call(b"after___")
""").finish()
    assert not known(node.journal)  # the worker has noted that it said so


def test_many_threads_sleep(node: Node, page: Page, client: Start) -> None:
    running = client(f"""
s = Session()
at = [s.submit(b"x", {STREAM}) for n in range(8)]
done = []
threads = [threading.Thread(target=lambda n=n: done.append((n, s.wait_executed(n, {STREAM})))) for n in at]
for one in threads: one.start()
for one in threads: one.join(20)
assert sorted(done) == [(n, True) for n in at], done
""")
    until(lambda: page.sleepers() == 8, 20, "eight sleepers")
    for sequence in (3, 5, 8):
        page.publish(STREAM, sequence)
    running.finish()
    assert page.sleepers() == 0


def test_all_streams_are_waited_for(node: Node, page: Page, client: Start) -> None:
    running = client(f"""
s = Session()
assert s.wait_all_executed()  # nothing was given
for stream in ({STREAM}, {OTHER}, 0): s.submit(b"x", stream)
assert s.wait_all_executed()
assert s.executed(1, {STREAM}) and s.executed(2, {OTHER}) and s.executed(3, 0)
s.call(b"after___")
""")
    for sequence, stream in enumerate((STREAM, OTHER, 0), 1):
        until(lambda: page.sleepers() == 1, 20, "the sleeper")
        page.publish(stream, sequence)
    running.finish()
    assert sorted(what[1:] for what in known(node.journal)) == [(0, 3), (STREAM, 1), (OTHER, 2)]


def test_bytes_come_before_it_counts(node: Node, page: Page, client: Start) -> None:
    """A copy whose bytes are on their way: whoever knows that it is done must find them."""
    node.script.withhold_results = True
    running = client(f"""
s = Session()
seen = []
s.submit(b"x", {STREAM})
copy = s.receive(9, lambda *heard: seen.append(heard), {OTHER})
after = s.submit(b"x", {STREAM})
s.poll()
told("given"); go()
assert s.executed_by_now(1, {STREAM}) and not s.executed_by_now(after, {STREAM}) and not seen
assert not s.wait_executed(after, {STREAM})  # so an op is to ask
os._exit(0)  # what is still owed would be told to an interpreter that is gone
""")
    assert running.hear() == "given"
    node.wait_journal(3)
    page.publish(STREAM, 3)
    running.go()
    running.finish()


@pytest.mark.parametrize(
    "place",
    [Place(STREAM + 1, 9, 3, 0), Place(SAME_PLACE + 1, 9, 2, 0), Place(0, 9, 0, 0)],
    ids=["odd", "another", "nobody"],
)
def test_a_place_that_is_not_the_streams_says_nothing(node: Node, page: Page, client: Start, place: Place) -> None:
    page.write(place, STREAM)
    client(f"""
s = Session()
assert not s.executed_by_now(s.submit(b"x", {STREAM}), {STREAM})
""").finish()


def test_the_end_of_the_session_wakes(node: Node, page: Page, client: Start) -> None:
    running = client(f"""
s = Session()
at = s.submit(b"x", {STREAM})
thread = threading.Thread(target=lambda: told(str(s.wait_executed(at, {STREAM}))))
thread.start(); thread.join(20)
assert s.status == 46 and s.submit(b"y", {STREAM}) == 0
""")
    until(lambda: page.sleepers() == 1, 20, "the sleeper")
    node.script.first = completion(FAULT, status=46, payload=b"given up")
    node.stop_worker()
    node.start_worker()
    assert running.hear() == "False"
    running.finish()


def test_the_next_worker_hears_what_the_last_one_published(node: Node, page: Page, client: Start) -> None:
    """It was read of a worker that ended before it was said: what follows must not run before that work."""
    running = client(f"""
s = Session()
at = s.submit(b"x", {STREAM})
s.poll(); told("given"); go()
assert s.wait_executed(at, {STREAM})
told("known"); go()
s.call(b"after___", {OTHER})
""")
    assert running.hear() == "given"
    node.wait_journal(1)
    node.stop_worker()
    page.publish(STREAM, 1)
    running.go()
    assert running.hear() == "known"
    node.start_worker()
    running.go()
    running.finish()
    assert len(node.opened) == 2 and known(node.journal) == [(2, STREAM, 1)] and len(node.journal) == 3


def test_a_cut_before_it_is_journaled_sends_it_again(node: Node, page: Page, client: Start) -> None:
    cuts = iter([True])

    def cut(batch: list[Record]) -> None:
        if any(one.op == KNOWN for one in batch) and next(cuts, False):
            raise Cut

    node.script.on_batch = cut
    page.publish(STREAM, 1)
    client(f"""
s = Session()
assert s.wait_executed(s.submit(b"x", {STREAM}), {STREAM})
assert s.call(b"after___", {OTHER}) == (0, b"after___")
""").finish()
    assert len(node.opened) == 2 and known(node.journal) == [(2, STREAM, 1)]


@pytest.mark.parametrize("why", ["order", "token", "short", "none"])
def test_without_a_page_an_op_asks(node: Node, page: Page, pinned: int, client: Start, why: str) -> None:
    if why == "order":
        node.check_order = True
    elif why == "token":  # another session's, as a path in another PID namespace could lead to
        os.pwrite(pinned, b"0" * 32, 0)
    elif why == "short":
        node.pinned["pinned_bytes"] = RESERVED - 4096
    else:
        node.pinned = {}
    page.publish(STREAM, 1)
    client(f"""
s = Session()
at = s.submit(b"x", {STREAM})
assert not s.executed_by_now(at, {STREAM}) and not s.wait_executed(at, {STREAM})
assert s.synchronize({STREAM}) == 0 and s.executed(at, {STREAM})
""").finish()
    assert not known(node.journal)
