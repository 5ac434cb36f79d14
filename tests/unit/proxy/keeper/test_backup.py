"""What the keeper holds is known to its service, too: under the right name, and nothing that has been closed."""

from __future__ import annotations

import os

from jitc.proxy.keeper.backup import Backup


class Outside:
    """Another holder, which counts what it is told."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []

    def put(self, name: str, descriptor: int) -> None:
        os.fstat(descriptor)
        self.said.append(("put", name))

    def remove(self, name: str) -> None:
        self.said.append(("remove", name))


def test_a_closed_descriptor_is_not_handed_on() -> None:
    """Also when its number means another file by now, even one under another name."""
    backup, first = Backup(), os.memfd_create("a")
    backup.note("a", first)
    assert backup.descriptors() == {"a": first}
    os.close(first)
    assert backup.descriptors() == {}
    again = os.memfd_create("b")
    assert again == first
    assert backup.descriptors() == {}
    backup.note("b", again)
    assert backup.descriptors() == {"b": again}
    os.close(again)


def test_a_copy_of_a_descriptor_is_as_good() -> None:
    """A service that has taken its memory from another one closes the descriptors that it was started with."""
    backup, first = Backup(), os.memfd_create("a")
    backup.note("a", first)
    second = os.dup(first)
    backup.note("a", second)
    os.close(first)
    assert backup.descriptors() == {"a": second}
    os.close(second)


def test_the_outside_holder_hears_of_changes_in_their_order() -> None:
    """A file that takes another one's name replaces it there; the same file again changes nothing."""
    outside = Outside()
    backup = Backup(outside)
    first, second = os.memfd_create("a"), os.memfd_create("b")
    backup.note("log", first)
    backup.note("log", first)
    backup.note("log", second)
    backup.note("board", first)
    assert outside.said == [
        ("put", "log"), ("put", "log"), ("remove", "log"), ("put", "log"), ("put", "board")
    ]  # fmt: skip
    outside.said.clear()
    backup.forget(["log", "unknown"])  # it may be there from a service before
    backup.clear()
    assert outside.said == [("remove", "log"), ("remove", "unknown"), ("remove", "board")]
    assert backup.descriptors() == {}
    for one in (first, second):
        os.close(one)
