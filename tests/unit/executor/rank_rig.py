"""A rank for tests with two of them: a training process and its worker, driven by hand.

Each rank has parameters (equal on both, changed by the optimizer step), statistics (its own, changed in
the forward pass) and a batch (its own, new in every minibatch).
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from typing import Any

from executor_rig import BASE, MIB, RANGE, Client, Control, Shared, make_executor, stats, wait_for
from job_rig import digest

from jitc.proxy.common.executor import Executor

BLOCK = 64 << 10
PARAMETERS, STATISTICS, BATCH, GRADIENTS = 0, BLOCK, 2 * BLOCK, 3 * BLOCK
#: Classes of their blocks, by ordinal: parameters have a replica, statistics are the rank's own.
CLASSES = {"unique_ordinals": [1], "volatile_ordinals": [1], "known_ordinals": [0, 1]}
UNIQUE_ID = b"world".ljust(128, b"\0")
SLOT = 64  # bytes of a session's slot on each part of the board
#: Where the board has what sessions show of their boundaries (JobHistory), from one to the next, and what is used.
HISTORIES, HISTORY, SHOWN = 256 * SLOT + 4096, 1 << 20, 64 << 10
#: Where it has names of their communicators (JobNames), and what each session has; its other part (NodeBoard) follows.
ALL_NAMES, NAMES = HISTORIES + 256 * HISTORY, 64 << 10
NODE = ALL_NAMES + 256 * NAMES
ITEM = struct.Struct("<QIIIiQQQdQ")


@dataclass(eq=False)
class Rank:
    """A training process and its worker."""

    rank: int
    shared: Shared
    board: Shared
    control: Control
    executor: Executor
    client: Client

    @classmethod
    def start(
        cls, rank: int, board: Shared | None, control: Control, snapshot: int = 256 * MIB, journal: int = 64 * MIB
    ) -> Rank:
        one = cls.open(rank, board, control, snapshot, journal)
        one.join(5, UNIQUE_ID, rank)
        one.fill()
        return one

    @classmethod
    def open(
        cls, rank: int, board: Shared | None, control: Control, snapshot: int = 256 * MIB, journal: int = 64 * MIB
    ) -> Rank:
        """One that has memory, and no communicator."""
        shared = Shared(journal, snapshot=snapshot)
        executor = make_executor(control, ordinal=rank)
        executor.open_session(shared.request(session=rank + 1, slot=rank, board=board or shared))
        client = Client(executor, session=rank + 1, base=BASE + rank * RANGE)
        client.attach()
        client.op("allocate", client.base, 2 * MIB)
        return cls(rank, shared, board or shared, control, executor, client)

    def join(self, handle: int, unique_id: bytes, rank: int) -> None:
        """A communicator of two ranks. rank: in it."""
        self.client.op("communicator_create", handle, 2, rank, unique_id)

    def fill(self) -> None:
        client = self.client
        client.op("fill", client.base, BLOCK, 1, 4)  # the same on both
        client.op("fill", client.base + STATISTICS, BLOCK, self.rank + 7, 4)
        client.flush()

    def blocks(self) -> list[tuple[int, int, int]]:
        step, base = self.client.boundaries + 1, self.client.base
        return [(base, BLOCK, 0), (base + STATISTICS, BLOCK, 1), (base + BATCH, 4096, 10 + step)]

    def forward(self) -> None:
        client, base, step = self.client, self.client.base, self.client.steps + 1
        client.op("copy_h2d", base + BATCH, 4096, payload=bytes([step * 16 + self.rank]) * 4096)
        client.op("copy_d2d", base + STATISTICS + 4096, base + BATCH, 4096)  # statistics see the batch
        client.op("copy_d2d", base + GRADIENTS, base + BATCH, 4096)
        self.all_reduce(5)

    def all_reduce(self, handle: int, block: int = GRADIENTS) -> None:
        """Of its first page, as floats."""
        client, place = self.client, self.client.base + block
        client.op("collective", 1, payload=ITEM.pack(handle, 0, 7, 0, -1, 1024, place, place, 1.0, 0))
        client.flush()

    def step(self, gradient: int = 4096) -> None:
        """gradient: bytes of it; nobody uses more than 4096."""
        blocks = [*self.blocks(), (self.client.base + GRADIENTS, gradient, 1000 + self.client.steps)]
        self.client.op("live_set", len(blocks), payload=b"".join(struct.pack("<QQQ", *one) for one in blocks))
        self.client.step_begin()
        self.update()

    def update(self) -> None:
        client, base = self.client, self.client.base
        client.op("copy_d2d", base + 4096 * (1 + client.steps % 4), base + GRADIENTS, 4096, phase=2)
        client.flush()

    def finish(self) -> None:
        self.client.boundary(self.blocks())
        self.client.flush()

    def command(self, method: str, **fields: Any) -> dict[str, Any]:
        return self.executor.command(method, {"session": self.rank + 1, **fields})

    def stats(self) -> dict[str, Any]:
        return stats(self.executor, self.rank + 1)

    def reached(self) -> int:
        """The optimizer step whose begin it has come to, as it says on the board (struct JobSlot)."""
        return int.from_bytes(os.pread(self.board.fds["board"], 8, SLOT * self.rank + 24), "little")

    def lose(self) -> None:
        """The worker is gone. Its slot on the board is not: a killed process clears nothing."""
        slots = [(SLOT, place + SLOT * self.rank) for place in (0, NODE)]
        places = [*slots, (SHOWN, HISTORIES + HISTORY * self.rank), (NAMES, ALL_NAMES + NAMES * self.rank)]
        kept = [(os.pread(self.board.fds["board"], *place), place[1]) for place in places]
        self.executor.close()
        for content, offset in kept:
            os.pwrite(self.board.fds["board"], content, offset)

    def rebuild(self, epoch: int) -> None:
        self.executor = make_executor(self.control, ordinal=self.rank)
        request = self.shared.request(self.rank + 1, self.rank, rebuild=True, epoch=epoch, board=self.board)
        self.executor.open_session(request)
        self.client.reconnect(self.executor)

    def content(self) -> str:
        base = self.client.base
        return digest(self.client, [(base, BLOCK, 0), (base + STATISTICS, BLOCK, 1), (base + BATCH, 4096, 2)])


def start_two(snapshot: int = 256 * MIB, journal: int = 64 * MIB, kind: type[Rank] = Rank) -> list[Rank]:
    """In one communicator, on one board. snapshot: bytes for copies."""
    control = Control()
    first = kind.start(0, None, control, snapshot, journal)
    return [first, kind.start(1, first.shared, control, snapshot, journal)]


def contents(ranks: list[Rank]) -> list[str]:
    return [one.content() for one in ranks]


def minibatch(ranks: list[Rank]) -> None:
    """With its boundary, which all of them have when this returns."""
    for one in ranks:
        one.forward()
        one.step()
        one.finish()
    for one in ranks:
        wait_for(lambda one=one: one.stats()["boundary"] == one.client.boundaries)


def step_alone(rank: Rank) -> None:
    """A step that no other rank makes."""
    before = rank.stats()["boundary"]
    rank.client.step_begin()
    rank.client.op("fill", rank.client.base + 4096, 4096, rank.client.steps, 4, phase=2)
    rank.finish()
    wait_for(lambda: rank.stats()["boundary"] == before + 1)


def stop(ranks: list[Rank]) -> None:
    for one in ranks:
        one.executor.close()
        one.shared.close()
    ranks[0].control.close()
