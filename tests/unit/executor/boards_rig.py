"""Two ranks on two nodes, each with a board and segments of its own, and bridges between them: all in this process.

The rig does what the nodes' services would: it enters mirror slots, links communicators, and begins epochs.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from executor_rig import Control, Shared, library
from rank_rig import SLOT, Rank
from recovery_rig import Recoveries
from toolkit.waiting import patient

from jitc.proxy.bridge.library import Bridge
from jitc.proxy.bridge.slots import MirrorSlots
from jitc.proxy.common import executor as binding

#: The slot of the other node's session, on both.
MIRROR = 64
WAIT_MS = 50


class Nodes(Control):
    """The control plane of both nodes; rank N is on node N, as session N + 1."""

    def __init__(self) -> None:
        super().__init__()
        self.boards = [Shared(), Shared()]
        self.shared = binding.shared(library())
        self.bridges = [Bridge(library(), one.path("board")) for one in self.boards]
        self.mirrors = [MirrorSlots(library(), one.path("board")) for one in self.boards]
        self.links: list[int] = []
        self._made = 0
        self._carriers: list[threading.Thread] = []
        self._stopped = threading.Event()
        self._show(0)
        self._start()

    def join(self, session: int, unique_id: bytes, ranks: int, rank: int, epoch: int) -> binding.Joined:
        with self.lock:
            key = unique_id, 2 * epoch + rank
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
        """The connection between the nodes breaks, and there is another one at once."""
        self._stop()
        for node, one in enumerate(self.bridges):
            one.cut(1 - node, why)
        self._start()

    def prepared(self, node: int) -> int:
        """The other rank's newest boundary, as the node's board says (struct JobSlot)."""
        return int.from_bytes(os.pread(self.boards[node].fds["board"], 8, SLOT * MIRROR + 16), "little")

    def begin_epoch(self, epoch: int, boundaries: dict[int, int]) -> None:
        """boundaries: of each session, where the recovery has put it."""
        self._show(epoch)
        for node, mirror in enumerate(self.mirrors):
            there = boundaries[2 - node]
            mirror.begin(MIRROR, epoch, dict.fromkeys(("prepared", "reached", "begun"), there))

    def _show(self, epoch: int) -> None:
        for node, one in enumerate(self.bridges):
            local = [{"slot": node, "session": node + 1, "peers": [1 - node]}]
            remote = [{"slot": MIRROR, "session": 2 - node, "peer": 1 - node, "epoch": epoch}]
            one.show({"local": local, "remote": remote})

    def _link(self, unique_id: bytes, epoch: int) -> None:
        size = self.shared.segment_bytes(2)
        self._made += 1
        for node, one in enumerate(self.bridges):
            fd = self.segments[unique_id, 2 * epoch + node] = os.memfd_create("test-segment")
            os.ftruncate(fd, size)
            self.shared.mark_segment(f"/proc/self/fd/{fd}", epoch + 7)
            self.mirrors[node].enter(MIRROR, 2 - node, epoch, [unique_id])
            for link in self.links:
                one.unlink(link)
            one.link(
                {
                    "link": self._made, "kind": "cuda" if os.environ.get("JITC_TEST_DRIVER") else "software",
                    "path": f"/proc/self/fd/{fd}", "bytes": size, "identity": epoch + 7, "ranks": 2, "here": [node],
                    "elsewhere": [{"peer": 1 - node, "ranks": [1 - node]}],
                }
            )  # fmt: skip
        self.links = [self._made]

    def _start(self) -> None:
        self._stopped.clear()
        self._carriers = [threading.Thread(target=self._carry, args=(node,)) for node in (0, 1)]
        for one in self._carriers:
            one.start()

    def _stop(self) -> None:
        self._stopped.set()
        for one in self._carriers:
            one.join(patient(30))
            assert not one.is_alive()

    def _carry(self, node: int) -> None:
        while not self._stopped.is_set():
            if frames := self.bridges[node].collect(1 - node, WAIT_MS):
                self.bridges[1 - node].apply(node, frames)


class NodeRecoveries(Recoveries):
    """Of two ranks on two nodes."""

    def __init__(self, ranks: list[Rank]) -> None:
        super().__init__(ranks)
        assert isinstance(ranks[0].control, Nodes)
        self._nodes = ranks[0].control

    def resume(self) -> None:
        self._nodes.begin_epoch(self.epoch, self.boundaries)
        for one in self.ranks:
            one.command("Resume", epoch=self.epoch, slots=[one.rank, MIRROR])


@contextmanager
def ranks_on_two_nodes(**options: Any) -> Iterator[list[Rank]]:
    nodes = Nodes()
    ranks = [Rank.start(rank, nodes.boards[rank], nodes, **options) for rank in (0, 1)]
    try:
        yield ranks
    finally:
        for one in ranks:
            one.executor.close()
            one.shared.close()
        nodes.close()
