"""The progress page: what a client reads there it knows without a message, and says before anything else that it sends.

The worker of these tests reports no progress in messages; the test writes the page.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from page_rig import OTHER, STREAM, known
from standin_node import FAULT, KNOWN, Cut, Node, Record, completion
from toolkit.progress_page import Page
from toolkit.waiting import until

Start = Callable[..., Any]


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
assert s.sleep_until_executed(at, {STREAM})
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
    running = client(f"assert Session().sleep_until_executed(1, {STREAM})")
    until(lambda: page.sleepers() == 1, 20, "the sleeper")
    page.publish(STREAM, 1, wake=False)
    running.finish()


def test_a_message_ends_the_sleep_too(node: Node, page: Page, client: Start) -> None:
    node.script.withhold_progress = False
    client(f"""
s = Session()
assert s.sleep_until_executed(s.submit(b"x", {STREAM}), {STREAM})
s.call(b"after___")
""").finish()
    assert not known(node.journal)  # the worker has noted that it said so


def test_a_fork_takes_no_sleeper_along(node: Node, page: Page, client: Start) -> None:
    running = client(f"""
s = Session()
at = s.submit(b"x", {STREAM})
thread = threading.Thread(target=lambda: s.sleep_until_executed(at, {STREAM}))
thread.start()
told("asleep"); go()
pid = os.fork()
if pid == 0:
    known = s.executed_by_now(at, {STREAM}) or s.wait_executed(at, {STREAM}) or s.wait_all_executed()
    os._exit(int(known))
assert os.waitpid(pid, 0)[1] == 0
told("forked"); thread.join(20)
assert s.executed(at, {STREAM})
s.call(b"after___")
""")
    assert running.hear() == "asleep"
    until(lambda: page.sleepers() == 1, 20, "the sleeper")
    node.wait_journal(1)
    running.go()
    assert running.hear() == "forked"
    page.publish(STREAM, 1)
    running.finish()
    assert page.sleepers() == 0 and known(node.journal) == [(2, STREAM, 1)]


def test_many_threads_sleep(node: Node, page: Page, client: Start) -> None:
    running = client(f"""
s = Session()
at = [s.submit(b"x", {STREAM}) for n in range(8)]
done = []
threads = [threading.Thread(target=lambda n=n: done.append((n, s.sleep_until_executed(n, {STREAM})))) for n in at]
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
while not s.wait_all_executed(): pass
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


def test_bytes_of_the_stream_are_waited_for_without_a_question(node: Node, page: Page, client: Start) -> None:
    """As `.item()` needs them: the page knows that the copy is done before its bytes have come."""
    page.publish(STREAM, 1)
    client(f"""
s = Session()
seen = []
copy = s.receive(9, lambda *heard: seen.append(heard), {STREAM})
assert s.wait_executed(copy, {STREAM}) and seen
s.call(b"after___")
""").finish()
    assert not known(node.journal)  # the worker has noted that it gave the bytes


def test_bytes_that_are_being_received_are_not_there_yet(node: Node, page: Page, client: Start) -> None:
    """The result has come, and its receiver has not returned: another thread must not be told that the copy is done."""
    page.publish(STREAM, 1)
    client(f"""
s = Session()
there, seen = threading.Event(), []
def ask():
    known = s.executed_by_now(1, {STREAM})
    seen.append(known <= there.is_set())
def heard(*result):
    asking = threading.Thread(target=ask)
    asking.start()
    asking.join(1)  # it may have to wait for this thread
    there.set()
s.receive(9, heard, {STREAM})
s.call(b"after___")
until(lambda: bool(seen), 20, "the answer")
assert seen == [True], seen
assert s.executed_by_now(1, {STREAM})
""").finish()


def test_the_end_of_the_session_wakes(node: Node, page: Page, client: Start) -> None:
    running = client(f"""
s = Session()
at = s.submit(b"x", {STREAM})
thread = threading.Thread(target=lambda: told(str(s.sleep_until_executed(at, {STREAM}))))
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
