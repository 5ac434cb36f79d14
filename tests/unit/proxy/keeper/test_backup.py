"""What the keeper holds is known to its service, too: under the right name, and nothing that has been closed."""

from __future__ import annotations

import errno
import os

import pytest

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


def kept(backup: Backup) -> dict[str, str]:
    """What is handed on: names, and what each leads to. The descriptors are closed."""
    found = backup.descriptors()
    try:
        return {
            name: os.readlink(f"/proc/self/fd/{one}").removeprefix("/memfd:").split()[0] for name, one in found.items()
        }
    finally:
        for one in found.values():
            os.close(one)


def test_a_closed_descriptor_is_not_handed_on() -> None:
    """Also when its number means another file by now, even one under another name."""
    backup, first = Backup(), os.memfd_create("a")
    backup.note("a", first)
    assert kept(backup) == {"a": "a"}
    os.close(first)
    assert kept(backup) == {}
    again = os.memfd_create("b")
    assert again == first
    assert kept(backup) == {}
    backup.note("b", again)
    assert kept(backup) == {"b": "b"}
    os.close(again)


def test_what_is_handed_on_stays_when_its_owner_closes_it() -> None:
    """A recovery may close memory while a service that has lost its keeper hands everything on."""
    backup, first = Backup(), os.memfd_create("a")
    backup.note("a", first)
    handed = backup.descriptors()
    os.close(first)
    assert os.fstat(handed["a"]).st_size == 0
    os.close(handed["a"])


def test_with_no_descriptor_left_the_owner_s_is_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    backup, first = Backup(), os.memfd_create("a")
    backup.note("a", first)

    def none_left(descriptor: int) -> int:
        raise OSError(errno.EMFILE, "too many open files")

    monkeypatch.setattr(os, "dup", none_left)
    assert backup.descriptors() == {"a": first}
    os.close(first)
    assert backup.descriptors() == {}


def test_a_copy_of_a_descriptor_is_as_good() -> None:
    """A service that has taken its memory from another one closes the descriptors that it was started with."""
    backup, first = Backup(), os.memfd_create("a")
    backup.note("a", first)
    second = os.dup(first)
    backup.note("a", second)
    os.close(first)
    assert kept(backup) == {"a": "a"}
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
