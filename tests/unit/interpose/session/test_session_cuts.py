"""Workers that die at every position of a conversation: nothing lost, nothing twice, no error seen."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from standin_node import Cut, Node, Record, answer_of

Start = Callable[..., Any]
# 60 ops, every third one waited for, some received; checks each answer.
WORK = """
s = Session()
heard = []
for n in range(20):
    s.submit(b"%08d" % n)
    s.receive(1000 + n, lambda *result: heard.append(result))
    assert s.call(b"%08d" % n) == (0, b"%08d" % n)
assert s.synchronize() == 0
assert [tag for tag, _, _ in heard] == [1000 + n for n in range(20)], heard
assert all(payload == b"d2h" + tag.to_bytes(8, "little") + (3 * (tag - 1000) + 2).to_bytes(8, "little")
           for tag, _, payload in heard)
assert s.status == 0
"""


def check(node: Node) -> None:
    assert [record.sequence for record in node.journal] == list(range(1, 62))
    assert [record.payload for record in node.journal[:60:3]] == [b"%08d" % n for n in range(20)]


@pytest.mark.parametrize("hook", ["on_batch", "on_journaled", "on_completions", "on_sent"])
def test_cut_at_every_position(node: Node, client: Start, hook: str) -> None:
    """The connection breaks once at each op, at this point of its handling."""
    done: set[int] = set()

    def cut(batch: list[Record]) -> None:
        new = {record.sequence for record in batch} - done
        if new:
            done.update(new)
            raise Cut

    setattr(node.script, hook, cut)
    _, err = client(WORK).finish()
    check(node)
    assert len(node.opened) > 20 and err == ""


def test_cut_inside_a_batch(node: Node, client: Start) -> None:
    """The worker journals only the first op of a batch before it dies."""
    node.script.journal_part = lambda batch: batch[:1]
    client(WORK).finish()
    check(node)


def test_worker_process_replaced(node: Node, client: Start) -> None:
    """Another socket, and the service is a while without a worker; the token stays."""
    running = client("""
s = Session()
assert s.call(b"first___") == (0, b"first___")
told("ready"); go()
for n in range(10): s.submit(b"%d" % n)
told("queued")
assert s.call(b"second__") == (0, b"second__")
""")
    assert running.hear() == "ready"
    refusals = []

    def busy(request: Any, context: Any) -> None:
        if len(refusals) < 5:
            refusals.append(request.token)
            context.abort(grpc.StatusCode.UNAVAILABLE, "the session is being recovered; ask again")

    node.script.attach = busy
    node.stop_worker()
    running.go()
    assert running.hear() == "queued"
    node.start_worker()
    _, err = running.finish()
    assert err == "" and refusals == [f"{1:032x}"] * 5
    assert [record.sequence for record in node.journal] == list(range(1, 13))
    assert node.opened[-1]["jitc-results-received"] == "1"


def test_asynchronous_ops_are_sent_again_with_nobody_waiting(node: Node, client: Start) -> None:
    running = client("""
s = Session()
for n in range(50): s.submit(b"%d" % n)
told("done"); go()
""")
    first = threading.Event()

    def cut_once(batch: list[Record]) -> None:
        if not first.is_set():
            first.set()
            raise Cut

    node.script.on_batch = cut_once
    assert running.hear() == "done"
    node.wait_journal(50)
    running.go()
    running.finish()
    assert first.is_set()


def test_results_are_delivered_once(node: Node, client: Start) -> None:
    """After a cut the worker sends all results again that were not confirmed."""
    cut = threading.Event()

    def after(batch: list[Record]) -> None:
        if not cut.is_set() and batch[-1].sequence >= 5:
            cut.set()
            raise Cut

    node.script.on_sent = after
    client("""
s = Session()
heard = []
for n in range(1, 6): s.receive(n, lambda tag, *rest: heard.append(tag))
until(lambda: len(heard) >= 5, 20, "results")
for n in range(6, 9): s.receive(n, lambda tag, *rest: heard.append(tag))
assert s.synchronize() == 0
assert heard == list(range(1, 9)), heard
""").finish()
    assert cut.is_set() and len(node.opened) == 2


def test_old_stream_that_the_worker_still_believes_in(node: Node, client: Start) -> None:
    """ALREADY_EXISTS on reconnect is waited out; the worker is slow to see that the old stream is gone."""
    refused: list[int] = []

    def contest(context: Any) -> None:
        if len(node.opened) > 1 and len(refused) < 3:
            refused.append(1)
            context.abort(grpc.StatusCode.ALREADY_EXISTS, "another process is connected to this session")

    node.script.on_open = contest
    once: list[int] = []

    def cut(batch: list[Record]) -> None:
        if not once:
            once.append(1)
            raise Cut

    node.script.on_batch = cut
    client(WORK).finish()
    check(node)
    assert len(refused) == 3


def test_service_restarts_during_an_outage(node: Node, client: Start) -> None:
    running = client(
        """
s = Session()
s.call(b"x"); told("ready"); go()
told(s.call(b"after___"))
""",
        JITC_SERVICE_TIMEOUT="60",
    )
    assert running.hear() == "ready"
    node.stop_worker()
    node.stop_service()
    running.go()
    assert running.process.poll() is None
    node.start()
    assert running.hear() == "(0, b'after___')"
    running.finish()


def test_answers_are_a_function_of_the_op() -> None:
    """What the other tests rest on: a resent op has the same answer, another one has not."""
    one = Record(0x0204, 1, 1, 5, bytes(16))
    assert answer_of(one) == answer_of(Record(0x0204, 1, 1, 5, bytes(16)))
    assert answer_of(one) != answer_of(Record(0x0204, 1, 1, 6, bytes(16)))
