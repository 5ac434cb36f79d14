"""What a client adds for a service that checks the order of ops, and that it adds nothing for another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from standin_node import Node, Record

from jitc.ops.generated_names import IDS

Start = Callable[..., Any]
NAMES = {number: name for name, number in IDS.items()}
PLACES = """
import ctypes
from session_binding import SITE_SOURCE
texts = {name: ctypes.create_string_buffer(f"aten::{name}\\ntrain.py:{name}\\n".encode()) for name in "ab"}
here = None
def place():
    return ctypes.addressof(texts[here]) if here else None
source = SITE_SOURCE(place)
library().rt_set_site_source(source)
s = Session()
"""


def notes(journal: list[Record]) -> list[tuple[str, Any]]:
    """Names of ops; of a place its text, of what is known stream and sequence."""
    found: list[tuple[str, Any]] = []
    for record in journal:
        name = NAMES[record.op]
        number = [int.from_bytes(record.body[at : at + 8], "little") for at in range(0, len(record.body) // 8 * 8, 8)]
        what: Any = None
        if name == "order_site":
            what = record.body[8 : 8 + number[0]].decode()
        elif name == "order_known":
            what = tuple(number[:2])
        found.append((name, what))
    return found


def test_places_come_before_their_ops(node: Node, client: Start) -> None:
    node.check_order = True
    client(
        PLACES
        + """
here = "a"; s.submit(b"1"); s.submit(b"2")
here = "b"; s.submit(b"3")
here = None; s.submit(b"4")
here = "b"; s.submit(b"5"); library().rt_boundary(s.handle); s.submit(b"6")
s.synchronize()
"""
    ).finish()
    a, b = ("order_site", "aten::a\ntrain.py:a\n"), ("order_site", "aten::b\ntrain.py:b\n")
    op = ("copy_h2d", None)
    assert notes(node.journal) == [
        a, op, op, b, op, ("order_site", "\n"), op, b, op, ("boundary", None), b, op, ("stream_synchronize", None),
        ("memory_info", None),
    ]  # fmt: skip


def test_answers_of_queries_come_with_the_next_op_of_their_thread(node: Node, client: Start) -> None:
    node.check_order = True
    client(
        PLACES
        + """
first = s.submit(b"1", 5)
def watch():
    library().rt_found_done(s.handle, 5, first)
watcher = threading.Thread(target=watch)
watcher.start(); watcher.join()
s.submit(b"2", 6)
for until_ in (3, 1):
    library().rt_found_done(s.handle, 5, until_)
library().rt_found_done(s.handle, 6, 4)
library().rt_boundary(s.handle)
s.submit(b"3", 7)
s.submit(b"4", 7)
"""
    ).finish()
    told = [what for name, what in notes(node.journal) if name == "order_known"]
    assert told == [(5, 3), (6, 4)]
    names = [name for name, _ in notes(node.journal)]
    assert names.index("boundary") < names.index("order_known") < len(names) - 3


def test_notes_are_no_work_of_a_stream(node: Node, client: Start) -> None:
    """A stream that has run everything stays known as such, whatever is noted of it."""
    node.check_order = True
    client(
        PLACES
        + """
here = "a"
last = s.submit(b"1", 5)
assert s.synchronize(5) == 0 and s.executed(s.last(5), 5)
assert last == 2, "the place is the first op"
"""
    ).finish()


def test_another_service_gets_nothing(node: Node, client: Start) -> None:
    client(
        PLACES
        + """
here = "a"; s.submit(b"1"); library().rt_found_done(s.handle, 1, 1); s.submit(b"2"); s.synchronize()
"""
    ).finish()
    assert [name for name, _ in notes(node.journal)] == ["copy_h2d", "copy_h2d", "stream_synchronize"]
