"""Waiting until the worker has an op in its journal, as who wants to use shared memory again must: not earlier, through
cuts, and not for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from standin_node import Cut, Node, Record, completion

Start = Callable[..., Any]
FAULT = 4


def test_it_is_so_when_the_worker_says_so(node: Node, client: Start) -> None:
    may_journal, asked = threading.Event(), threading.Event()

    def hold(batch: list[Record]) -> None:
        asked.set()
        assert may_journal.wait(20)

    node.script.on_batch = hold
    running = client("""
s = Session()
first = s.submit(b"12345678")
assert not s.acknowledged(first) and not s.acknowledged(first + 1)
told("waits")
assert s.acknowledged(first, wait=True) and s.acknowledged(first) and not s.acknowledged(first + 1)
""")
    assert running.hear() == "waits"
    assert asked.wait(20) and not node.journal
    may_journal.set()
    running.finish()
    assert len(node.journal) == 1


def test_a_wait_goes_on_with_the_next_worker(node: Node, client: Start) -> None:
    """Ops are sent again that were lost, and those that were journaled without word of it are known to be there."""
    hooks = ["on_batch", "on_journaled"] * 5

    def cut(name: str) -> Callable[[list[Record]], None]:
        def now(batch: list[Record]) -> None:
            if hooks and hooks[0] == name:
                hooks.pop(0)
                raise Cut

        return now

    node.script.on_batch, node.script.on_journaled = cut("on_batch"), cut("on_journaled")
    client("""
s = Session()
for _ in range(20):
    assert s.acknowledged(s.submit(b"12345678"), wait=True)
""").finish()
    assert not hooks and len(node.journal) == 20


def test_nobody_waits_for_a_session_that_is_over(node: Node, client: Start) -> None:
    def end(batch: list[Record]) -> None:
        node.script.first = completion(FAULT, status=46, payload=b"given up")  # says the next worker
        raise Cut

    node.script.on_batch = end
    _, errors = client("""
s = Session()
first = s.submit(b"12345678")
assert not s.acknowledged(first, wait=True)
assert s.status == 46 and not s.acknowledged(first, wait=True)
""").finish()
    assert "given up" in errors


def test_a_forked_child_does_not_wait(node: Node, client: Start) -> None:
    client("""
import os
s = Session()
first = s.submit(b"12345678")
child = os.fork()
if child == 0:
    os._exit(s.acknowledged(first + 1, wait=True))
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert s.acknowledged(first, wait=True)
""").finish()
