"""The binding of the bridge's data path, and of slots for sessions of other nodes: two nodes in one process."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from jitc.proxy.bridge.library import ROOM, Bridge, BridgeError
from jitc.proxy.bridge.mirror import Malformed
from jitc.proxy.bridge.mirror import Mirror as DataPath
from jitc.proxy.bridge.slots import MirrorSlots
from jitc.proxy.common import executor, paths

LIBRARY = paths.executor_library()
SHARED = executor.shared(LIBRARY)
#: Of a segment: bytes before what is the device's, and there of rank 0 its `joined`. Of a board: bytes of a slot, and
#: the places of session, epoch and `prepared` in it.
HEAD, JOINED = 4096, 8
SLOT, SESSION, EPOCH, PREPARED = 64, 0, 8, 16
LINK = 2**63 + 5


def memory(size: int) -> int:
    file = os.memfd_create("jitc-test")
    os.truncate(file, size)
    return file


def path(file: int) -> str:
    return f"/proc/self/fd/{file}"


@dataclass
class Node:
    """A node with one rank of a communicator of two."""

    number: int
    board: int
    segment: int
    bridge: Bridge

    @classmethod
    def make(cls, number: int) -> Node:
        board, segment = memory(SHARED.board_bytes), memory(SHARED.segment_bytes(2))
        SHARED.mark_segment(path(segment), 7 + number)
        return cls(number, board, segment, Bridge(LIBRARY, path(board)))

    def close(self) -> None:
        self.bridge.close()
        for one in (self.board, self.segment):
            os.close(one)

    @property
    def peer(self) -> int:
        return 1 - self.number

    def description(self) -> dict[str, Any]:
        return {
            "link": LINK, "kind": "software", "path": path(self.segment), "bytes": SHARED.segment_bytes(2),
            "identity": 7 + self.number, "ranks": 2, "here": [self.number],
            "elsewhere": [{"peer": self.peer, "ranks": [self.peer]}],
        }  # fmt: skip

    def word(self, slot: int, at: int, value: int | None = None) -> int:
        """Of the board; sets it first if there is a value."""
        with mmap.mmap(self.board, SLOT * 256) as words:
            place = slice(SLOT * slot + at, SLOT * slot + at + 8)
            if value is not None:
                words[place] = value.to_bytes(8, "little")
            return int.from_bytes(words[place], "little")

    def joined(self) -> int:
        """What the segment says of rank 0."""
        return os.pread(self.segment, 1, HEAD + JOINED)[0]


@pytest.fixture
def nodes() -> Iterator[tuple[Node, Node]]:
    both = Node.make(0), Node.make(1)
    yield both
    for one in both:
        one.close()


def carry(nodes: tuple[Node, Node]) -> None:
    """Until neither has anything to send."""
    more = True
    while more:
        more = False
        for one in nodes:
            frames = one.bridge.collect(one.peer, 0)
            nodes[one.peer].bridge.apply(one.number, frames)
            more = more or bool(frames)


def test_what_a_rank_publishes_comes_to_the_other_node(nodes: tuple[Node, Node]) -> None:
    here, there = nodes
    for one in nodes:
        one.bridge.link(one.description())
        one.bridge.link(one.description())  # again, as a service does that begins
    os.pwrite(here.segment, b"\1", HEAD + JOINED)
    assert not there.joined()
    carry(nodes)
    assert there.joined() == 1
    counters = here.bridge.counters()
    assert counters["links"] == 1
    assert counters["peers"][0]["sent"]["joined"] == {"frames": 1, "bytes": 20}
    assert there.bridge.counters()["peers"][0]["received"] == counters["peers"][0]["sent"]
    for _ in range(2):
        here.bridge.unlink(LINK)
    assert here.bridge.counters()["links"] == 0


def test_slots_are_mirrored_from_an_epoch_on(nodes: tuple[Node, Node]) -> None:
    here, there = nodes
    slots = MirrorSlots(LIBRARY, path(there.board))
    slots.enter(70, 900, 2, [bytes([1]) * 128, bytes([2]) * 128])
    assert (there.word(70, SESSION), there.word(70, EPOCH), there.word(70, PREPARED)) == (900, 2, 0)
    here.word(3, SESSION, 30)
    here.word(3, EPOCH, 2)
    here.word(3, PREPARED, 8)
    here.bridge.show({"local": [{"slot": 3, "session": 30, "peers": [1]}], "remote": []})
    there.bridge.show({"local": [], "remote": [{"peer": 0, "session": 30, "slot": 70, "epoch": 2}]})
    carry(nodes)
    assert there.word(70, PREPARED) == 8
    there.bridge.show({"local": [], "remote": [{"peer": 0, "session": 30, "slot": 70, "epoch": 3}]})
    slots.begin(70, 3, {"prepared": 5})
    carry(nodes)
    assert (there.word(70, EPOCH), there.word(70, PREPARED)) == (3, 5)
    there.bridge.show({"local": [], "remote": []})
    slots.leave(70)
    carry(nodes)
    assert there.word(70, SESSION) == 0


def test_frames_are_awaited_and_come_whole(nodes: tuple[Node, Node]) -> None:
    assert nodes[0].bridge.collect(1, 1) == b""
    nodes[0].bridge.link(nodes[0].description())
    assert 0 < len(nodes[0].bridge.collect(1, 60_000)) < ROOM


def test_refusals_have_the_library_s_text(nodes: tuple[Node, Node]) -> None:
    data_path: DataPath = nodes[0].bridge
    with pytest.raises(BridgeError, match="another one"):
        data_path.link(nodes[0].description() | {"identity": 99})
    with pytest.raises(BridgeError, match='the description has no "kind"'):
        data_path.link({})
    with pytest.raises(BridgeError, match="no slot 256"):
        data_path.show({"local": [{"slot": 256, "session": 1, "peers": []}], "remote": []})
    with pytest.raises(Malformed, match="no frames"):
        data_path.apply(1, b"x" * 16)
    with pytest.raises(BridgeError, match="cannot open"):
        Bridge(LIBRARY, "/nowhere/board")
    slots = MirrorSlots(LIBRARY, path(nodes[0].board))
    for call in (lambda: slots.enter(256, 1, 1, []), lambda: slots.begin(256, 1, {}), lambda: slots.leave(256)):
        with pytest.raises(executor.ExecutorError, match="no slot 256"):
            call()


def test_a_cut_reaches_the_segment(nodes: tuple[Node, Node]) -> None:
    nodes[0].bridge.link(nodes[0].description())
    nodes[0].bridge.cut(1, "node n1 does not answer")
    assert b"node n1 does not answer\0" in os.pread(nodes[0].segment, HEAD, 0)
    SHARED.cut_segment(path(nodes[1].segment), "the bridge has ended")
    assert b"the bridge has ended\0" in os.pread(nodes[1].segment, HEAD, 0)


def test_a_closed_bridge_says_so() -> None:
    node = Node.make(0)
    node.close()
    node.bridge.close()
    for call in (node.bridge.counters, lambda: node.bridge.collect(1, 0), lambda: node.bridge.unlink(1)):
        with pytest.raises(BridgeError, match="was closed"):
            call()
