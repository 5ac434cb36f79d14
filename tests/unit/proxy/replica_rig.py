"""A data parallel job on real workers, for tests of what the service makes of its replicas.

Called by: the tests of this folder, which run it minibatch by minibatch; the service looks at it in between.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from client_rig import RealClient, serving
from toolkit.waiting import until

from jitc.proxy.protection.peer_mode.policy import Policies
from jitc.proxy.ranks.stats import stats_of
from jitc.proxy.service import Service

#: Of each rank: parameters, which are equal; statistics of its own; gradients; and where a bit flips.
PARAMETERS, STATISTICS, GRADIENTS, FLIPPED = (0, 64 << 10), (64 << 10, 4096), (80 << 10, 1024), 60_000
PART, PARTS = 1024, 32
MOST_MINIBATCHES = 100
TICK = Policies.tick


class Rank(RealClient):
    """A training process of a data parallel job."""

    def begin(self, rank: int, ranks: int) -> int:
        self.rank = rank
        self.call("allocate", self.base, 2 << 20)
        self.write(STATISTICS[0], bytes([rank]) * STATISTICS[1])
        return self.send("communicator_create", 7, ranks, rank, b"u" * 128)

    def minibatch(self, waits: bool) -> None:
        """waits: the optimizer step asks the device for a number, so that copies are kept of all blocks."""
        self.begin_step()
        self.end_step(waits)

    def begin_step(self) -> None:
        at, step = self.base + GRADIENTS[0], self.boundaries + 1
        self.write(GRADIENTS[0], struct.pack("<I", step * (self.rank + 1)) * (PART // 4))
        item = struct.pack("<QIIIiQQQdQ", 7, 0, 2, 0, -1, PART // 4, at, at, 1.0, 0)
        self.send("collective", 1, payload=item)
        self.send("live_set", len(self.blocks()), payload=self.live())
        self.send("step_begin", step)

    def end_step(self, waits: bool) -> None:
        at, step = self.base + GRADIENTS[0], self.boundaries + 1
        if waits:
            self.send("copy_d2h", at, 4, 0, 0)
        self.update(step, at)
        self.boundaries = step
        self.send("boundary", step, len(self.blocks()), payload=self.live())

    def live(self) -> bytes:
        return b"".join(struct.pack("<QQQ", self.base + at, size, n) for n, (at, size) in enumerate(self.blocks()))

    def update(self, step: int, gradients: int) -> None:
        """What the optimizer step changes."""
        self.send("copy_d2d", self.base + PART * (step % PARTS), gradients, PART)

    def blocks(self) -> tuple[tuple[int, int], ...]:
        return PARAMETERS, STATISTICS


class Ranks:
    """A job and its service; waits says what its steps do."""

    looks = 0  # that the service has taken at its jobs

    def __init__(self, service: Service, count: int, waits: bool, kind: type[Rank]) -> None:
        self.service, self.waits = service, waits
        self.ranks = [kind(service, gpu, rank=gpu, world_size=count) for gpu in range(count)]
        self.threads = ThreadPoolExecutor(count)
        joins = [one.begin(rank, count) for rank, one in enumerate(self.ranks)]
        for one, sequence in zip(self.ranks, joins, strict=True):
            one.wait(sequence)

    def until(self, condition: Callable[[], Any]) -> Any:
        """Minibatches until it is so."""
        for _ in range(MOST_MINIBATCHES):
            if found := condition():
                return found
            self.minibatch()
            seen = Ranks.looks
            until(lambda seen=seen: Ranks.looks > seen + 1, 30, "the service looks at the job")
        raise AssertionError(f"not in {MOST_MINIBATCHES} minibatches")

    def minibatch(self) -> None:
        """To its end."""
        for one in self.ranks:
            one.minibatch(self.waits)
        self.parameters()

    def parameters(self) -> list[bytes]:
        return self.read(PARAMETERS)

    def read(self, block: tuple[int, int]) -> list[bytes]:
        """Of all ranks; read at once, as each rank's work needs the others'."""
        return list(self.threads.map(lambda one: one.read(*block), self.ranks))

    def policies(self) -> set[str]:
        return {one["policy"] for one in stats_of(self.service.registry.sessions.values()).values()}

    def counter(self, number: int, name: str) -> int:
        """Of a session's worker."""
        return int(stats_of(self.service.registry.sessions.values()).get(number, {}).get(name, -1))

    def session(self, rank: int) -> Any:
        return next(one for one in self.service.registry.sessions.values() if one.rank == rank)

    def label(self, rank: int) -> str:
        return f"rank {rank} (pid {os.getpid()})"

    def flip(self, rank: int) -> None:
        """One bit of its parameters, in the memory of the device."""
        memory = os.open(f"/proc/{self.session(rank).worker.pid}/mem", os.O_RDWR)
        address = self.ranks[rank].base + FLIPPED
        (byte,) = os.pread(memory, 1, address)
        assert os.pwrite(memory, bytes([byte ^ 4]), address) == 1
        os.close(memory)

    def close(self) -> None:
        self.threads.shutdown()
        for one in self.ranks:
            one.close()


@contextmanager
def job(
    directory: Path,
    count: int,
    heal: bool = False,
    waits: bool = False,
    kind: type[Rank] = Rank,
    *,
    reserves: bool = False,
) -> Iterator[Ranks]:
    """reserves: whether there is something to go back to where peers have not what is lost."""
    with serving(directory, gpus=count, heal_replicas=heal, reserve_share=0.01 * reserves) as service:
        ranks = Ranks(service, count, waits, kind)
        yield ranks
        ranks.close()


def compared(service: Service, number: int = 0) -> dict[str, Any]:
    """The report of a recovery, once its ranks have been compared: until then its outcome may change."""

    def over() -> bool:
        return bool(service.own.recoveries()[number]["proof"]["state"] != "pending")

    until(over, 30, "the comparison is over")
    return service.own.recoveries()[number]


def look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service looks often, and minibatches wait for it."""

    def tick(policies: Policies) -> None:
        TICK(policies)
        Ranks.looks += 1

    monkeypatch.setattr(Policies, "tick", tick)
    monkeypatch.setattr("jitc.proxy.protection.peer_mode.policy.MEASURE_EVERY", 3)
    monkeypatch.setattr("jitc.proxy.protection.peer_mode.group_policy.REST_SECONDS", 0.0)
    for pause in ("MEASURING_SECONDS", "IDLE_SECONDS"):
        monkeypatch.setattr(f"jitc.proxy.recovery.coordinator.{pause}", 0.001)
