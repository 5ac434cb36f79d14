"""Where the progress page does not tell: without one, with one that is damaged or that nobody writes, an op asks."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from page_rig import OTHER, STREAM, TOKEN, known
from standin_node import BASE, Node
from toolkit.progress_page import RESERVED, Page, Place

Start = Callable[..., Any]
SAME_PLACE = STREAM + (1022 << 16)


def test_without_news_an_op_asks(node: Node, page: Page, client: Start) -> None:
    """Nothing ever tells of that op: the page is not written, and no progress comes."""
    client(f"""
s = Session()
at = s.submit(b"x", {STREAM})
assert not s.wait_executed(at, {STREAM}) and not s.wait_all_executed() and s.status == 0
assert s.synchronize({STREAM}) == 0 and s.wait_executed(at, {STREAM}) and s.wait_all_executed()
""").finish()
    assert page.sleepers() == 0 and not known(node.journal)


def test_the_client_says_that_it_has_the_page(node: Node, page: Page, client: Start) -> None:
    assert not page.is_announced()
    client("Session()").finish()
    assert page.is_announced()


def test_a_page_that_says_too_much_tells_of_no_later_work(node: Node, page: Page, client: Start) -> None:
    """As a stray pointer of the program may have written it."""
    page.publish(STREAM, (1 << 64) - 1)
    client(f"""
s = Session()
at = s.submit(b"x", {STREAM})
s.submit(b"x", {OTHER})
assert s.executed_by_now(at, {STREAM})
later = s.submit(b"x", {STREAM})
assert not s.executed(later, {STREAM})
s.call(b"after___")
""").finish()
    assert known(node.journal) == [(3, STREAM, 1)]


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


def other_file(why: str, folder: Path) -> int:
    """What the keeper gives in its place."""
    if why == "none":
        return -1
    if why == "a pipe":
        os.mkfifo(folder / "pipe")
        return os.open(folder / "pipe", os.O_RDWR)
    if why == "a folder":
        return os.open(folder, os.O_RDONLY)
    if why == "not sealed":
        (folder / "file").write_bytes(TOKEN.encode() + bytes(RESERVED + 4096))
        return os.open(folder / "file", os.O_RDWR)
    fd = os.memfd_create("test-pinned", os.MFD_ALLOW_SEALING)  # "truncated"
    os.pwrite(fd, TOKEN.encode(), 0)
    os.ftruncate(fd, RESERVED - 4096)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    return fd


@pytest.mark.parametrize("why", ["none", "truncated", "not sealed", "a pipe", "a folder"])
def test_a_file_that_is_not_the_services_is_no_page(node: Node, client: Start, tmp_path: Path, why: str) -> None:
    node.keeper.memory = fd = other_file(why, tmp_path)
    node.pinned = {"pinned_base": BASE >> 1, "pinned_bytes": RESERVED + 4096}
    node.script.withhold_progress = True
    client(f"""
s = Session()
at = s.submit(b"x", {STREAM})
assert not s.executed_by_now(at, {STREAM}) and not s.wait_executed(at, {STREAM})
assert s.synchronize({STREAM}) == 0 and s.executed(at, {STREAM})
""").finish()
    assert node.keeper.asked == [TOKEN.encode()]
    if fd >= 0:
        os.close(fd)


@pytest.mark.parametrize("why", ["order", "token", "short", "none"])
def test_without_a_page_an_op_asks(node: Node, page: Page, pinned: int, client: Start, why: str) -> None:
    if why == "order":
        node.check_order = True
    elif why == "token":  # another session's
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
