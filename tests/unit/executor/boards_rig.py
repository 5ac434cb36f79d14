"""Ranks on nodes of their own, each with a board and segments, and bridges between them: all in this process.

The rig does what the nodes' services would: it enters mirror slots, links communicators, and begins epochs.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import permutations
from typing import Any

from executor_rig import Control, Shared, library
from rank_rig import SLOT, UNIQUE_ID, Rank
from recovery_rig import Recoveries
from toolkit.waiting import patient

from jitc.proxy.bridge.library import Bridge
from jitc.proxy.bridge.slots import MirrorSlots
from jitc.proxy.common import executor as binding

#: The first slot of another node's session, on all.
MIRROR = 64
WAIT_MS = 50


class Carrier:
    """Carries what one node's bridge has for another one, while it runs."""

    def __init__(self, source: int, target: int, bridges: Sequence[Bridge]) -> None:
        self._source, self._target, self._bridges = source, target, bridges
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._stopped.clear()
        self._thread = threading.Thread(target=self._carry)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(patient(30))
            assert not self._thread.is_alive()

    def _carry(self) -> None:
        while not self._stopped.is_set():
            if frames := self._bridges[self._source].collect(self._target, WAIT_MS):
                self._bridges[self._target].apply(self._source, frames)


class Nodes(Control):
    """The control plane of all nodes; rank N is on node N, as session N + 1."""

    def __init__(self, members: Mapping[bytes, Sequence[int]]) -> None:
        """members: the nodes of each communicator, in the order of its ranks."""
        super().__init__()
        self._members, count = members, 1 + max(node for nodes in members.values() for node in nodes)
        self.boards = [Shared() for _ in range(count)]
        self.shared = binding.shared(library())
        self.bridges = [Bridge(library(), one.path("board")) for one in self.boards]
        self.mirrors = [MirrorSlots(library(), one.path("board")) for one in self.boards]
        self.links: dict[bytes, int] = {}
        self._made = 0
        self.carriers = {pair: Carrier(*pair, self.bridges) for pair in permutations(range(count), 2)}
        for node, other in self.carriers:
            self.mirrors[node].enter(self.mirror(node, other), other + 1, 0, [])
        self._show(0)
        self._start()

    def join(self, session: int, unique_id: bytes, ranks: int, rank: int, epoch: int) -> binding.Joined:
        with self.lock:
            key = unique_id, len(self.boards) * epoch + session - 1
            if key not in self.segments:
                self._link(unique_id, epoch)
            return binding.Joined(os.dup(self.segments[key]), self.shared.segment_bytes(ranks), epoch + 7)

    def close(self) -> None:
        self._stop()
        for one in self.bridges:
            one.close()
        for board in self.boards:
            board.close()
        super().close()

    def cut(self, why: str) -> None:
        """All connections between nodes break, and there are others at once."""
        self._stop()
        for node, other in self.carriers:
            self.bridges[node].cut(other, why)
        self._start()

    @staticmethod
    def mirror(node: int, other: int) -> int:
        """The slot of the other node's session on this node's board."""
        return MIRROR + other - (other > node)

    def prepared(self, node: int, other: int) -> int:
        """The other rank's newest boundary, as the node's board says (struct JobSlot)."""
        place = SLOT * self.mirror(node, other) + 16
        return int.from_bytes(os.pread(self.boards[node].fds["board"], 8, place), "little")

    def begin_epoch(self, epoch: int, boundaries: dict[int, int]) -> None:
        """boundaries: of each session, where the recovery has put it."""
        self._show(epoch)
        for node, other in self.carriers:
            counters = dict.fromkeys(("prepared", "reached", "begun"), boundaries[other + 1])
            self.mirrors[node].begin(self.mirror(node, other), epoch, counters)

    def _show(self, epoch: int) -> None:
        for node, one in enumerate(self.bridges):
            others = [other for there, other in self.carriers if there == node]
            remote = [
                {"slot": self.mirror(node, other), "session": other + 1, "peer": other, "epoch": epoch}
                for other in others
            ]
            one.show({"local": [{"slot": node, "session": node + 1, "peers": others}], "remote": remote})

    def _link(self, unique_id: bytes, epoch: int) -> None:
        members = self._members[unique_id]
        size = self.shared.segment_bytes(len(members))
        self._made += 1
        for rank, node in enumerate(members):
            bridge, others = self.bridges[node], [one for one in members if one != node]
            fd = self.segments[unique_id, len(self.boards) * epoch + node] = os.memfd_create("test-segment")
            os.ftruncate(fd, size)
            self.shared.mark_segment(f"/proc/self/fd/{fd}", epoch + 7)
            for other in others:
                self.mirrors[node].enter(self.mirror(node, other), other + 1, epoch, [unique_id])
            if unique_id in self.links:
                bridge.unlink(self.links[unique_id])
            bridge.link(
                {
                    "link": self._made, "kind": "cuda" if os.environ.get("JITC_TEST_DRIVER") else "software",
                    "path": f"/proc/self/fd/{fd}", "bytes": size, "identity": epoch + 7, "ranks": len(members),
                    "here": [rank],
                    "elsewhere": [{"peer": other, "ranks": [members.index(other)]} for other in others],
                }
            )  # fmt: skip
        self.links[unique_id] = self._made

    def _start(self) -> None:
        for one in self.carriers.values():
            one.start()

    def _stop(self) -> None:
        for one in self.carriers.values():
            one.stop()


class NodeRecoveries(Recoveries):
    """Of ranks on nodes of their own."""

    def __init__(self, ranks: list[Rank]) -> None:
        super().__init__(ranks)
        assert isinstance(ranks[0].control, Nodes)
        self._nodes = ranks[0].control

    def resume(self) -> None:
        self._nodes.begin_epoch(self.epoch, self.boundaries)
        for one in self.ranks:
            others = [self._nodes.mirror(one.rank, other.rank) for other in self.ranks if other is not one]
            one.command("Resume", epoch=self.epoch, slots=[one.rank, *others])


@contextmanager
def ranks_on_nodes(members: Mapping[bytes, Sequence[int]], start: Any, **options: Any) -> Iterator[list[Rank]]:
    """A rank on each node. start: Rank.start, or Rank.open."""
    nodes = Nodes(members)
    ranks = [start(rank, board, nodes, **options) for rank, board in enumerate(nodes.boards)]
    try:
        yield ranks
    finally:
        for one in ranks:
            one.executor.close()
            one.shared.close()
        nodes.close()


@contextmanager
def ranks_on_two_nodes(**options: Any) -> Iterator[list[Rank]]:
    with ranks_on_nodes({UNIQUE_ID: (0, 1)}, Rank.start, **options) as ranks:
        yield ranks
