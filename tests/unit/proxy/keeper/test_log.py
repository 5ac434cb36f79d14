"""The registry's log: what was put is found again, whatever became of the one who wrote it."""

from __future__ import annotations

import os
import random
import struct
from typing import Any

import pytest

from jitc.proxy.keeper import log
from jitc.proxy.keeper.log import Log


class Shelf:
    """Holds the newest memory, as the keeper does."""

    def __init__(self) -> None:
        self.held = -1

    def keep(self, descriptor: int) -> None:
        before, self.held = self.held, os.dup(descriptor)
        if before >= 0:
            os.close(before)

    def open(self) -> Log:
        return Log(os.dup(self.held), self.keep)


@pytest.fixture
def shelf() -> Any:
    one = Shelf()
    yield one
    os.close(one.held)


def test_any_history(shelf: Shelf) -> None:
    """Puts and deletes at random, with another writer now and then, against a dictionary."""
    source = random.Random(5)
    one, expected = Log.make(shelf.keep), dict[str, Any]()
    for turn in range(2000):
        key = f"{source.choice('abc')}/{source.randrange(20)}"
        if source.random() < 0.3:
            one.delete(key)
            expected.pop(key, None)
        else:
            expected[key] = source.choice([0, [1, "x"], {"a": [None, True]}, "t" * source.randrange(300)])
            one.put(key, expected[key])
        if turn % 97 == 0:
            one.close()
            one = shelf.open()
        assert one.entries("") == expected
    assert one.entries("a/") == {key[2:]: value for key, value in expected.items() if key.startswith("a/")}
    one.close()


def test_a_record_that_was_cut_off_does_not_count(shelf: Shelf) -> None:
    """At every byte of the last record; what is put afterwards is found."""
    one = Log.make(shelf.keep)
    one.put("first", 1)
    begin = os.fstat(shelf.held).st_size
    one.put("second", [2] * 10)
    end = os.fstat(shelf.held).st_size
    whole = os.pread(shelf.held, end, 0)
    one.close()
    for cut in range(begin, end):
        os.ftruncate(shelf.held, 0)
        os.pwrite(shelf.held, whole[:cut], 0)
        again = shelf.open()
        assert again.entries("") == {"first": 1}, cut
        again.put("third", 3)
        again.close()
        third = shelf.open()
        assert third.entries("") == {"first": 1, "third": 3}
        third.close()


def test_what_comes_after_a_damaged_record_stays_away(shelf: Shelf) -> None:
    """Also when the next record that is written ends where one of those began."""
    one = Log.make(shelf.keep)
    one.put("first", 1)
    damaged = os.fstat(shelf.held).st_size
    one.put("second", 2)
    one.put("third", 3)
    one.close()
    os.pwrite(shelf.held, bytes(4), damaged + 4)  # its checksum
    again = shelf.open()
    assert again.entries("") == {"first": 1}
    again.put("second", 4)  # as long as the one before
    again.close()
    last = shelf.open()
    assert last.entries("") == {"first": 1, "second": 4}
    last.close()


@pytest.mark.parametrize("size", [0, 1 << 31])
def test_a_wrong_size_ends_the_log(size: int, shelf: Shelf) -> None:
    one = Log.make(shelf.keep)
    one.put("first", 1)
    end = os.fstat(shelf.held).st_size
    one.put("second", 2)
    one.close()
    os.pwrite(shelf.held, struct.pack("<I", size), end)
    again = shelf.open()
    assert again.entries("") == {"first": 1}
    again.close()


def test_something_else_is_refused() -> None:
    other = os.memfd_create("other")
    os.write(other, b"what is this?")
    with pytest.raises(ValueError, match="no log"):
        Log(other, lambda descriptor: None)
    os.close(other)


def test_it_stays_small(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "COMPACT_BYTES", 4096)
    one = Log.make(shelf.keep)
    for turn in range(3000):
        one.put(f"key/{turn % 7}", {"turn": turn})
        assert os.fstat(shelf.held).st_size < 8192
    one.close()
    again = shelf.open()
    assert sorted(value["turn"] for value in again.entries("key/").values()) == list(range(2993, 3000))
    again.close()


def test_an_equal_value_is_not_written_again(shelf: Shelf) -> None:
    one = Log.make(shelf.keep)
    one.put("key", {"a": 1})
    before = os.fstat(shelf.held).st_size
    one.put("key", {"a": 1})
    assert os.fstat(shelf.held).st_size == before
    one.close()


def test_it_is_closed_with_the_keeper() -> None:
    """What a service does for want of a keeper is not true of the next one."""
    lost: list[bool] = []
    one = Log.make(closed=lambda: bool(lost))
    one.put("session", "serving")
    lost.append(True)
    one.put("session", "failed")
    one.delete("session")
    assert Log(one.handed_on(), lambda descriptor: None).get("session") == "serving"
    one.close()


def test_the_caller_may_change_what_it_has_put(shelf: Shelf) -> None:
    """It is written again then: what counts is what was put, and not what has become of it since."""
    one, value = Log.make(shelf.keep), {"ranks": [1]}
    one.put("key", value)
    value["ranks"].append(2)
    assert one.get("key") == {"ranks": [1]}
    one.put("key", value)
    one.close()
    again = shelf.open()
    assert again.get("key") == {"ranks": [1, 2]}
    again.close()
