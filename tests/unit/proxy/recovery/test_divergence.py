"""Replicas of which one bit has flipped in a device's memory, with real workers: told, and healed when asked for."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from real_client import RealClient
from toolkit.documents import differences, example
from toolkit.waiting import until

from jitc.proxy.common.config import Config
from jitc.proxy.node.workers.stats import stats_of
from jitc.proxy.recovery.peer_mode.policy import Policies
from jitc.proxy.service import Service
from jitc.v1 import control_pb2

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
        at, step = self.base + GRADIENTS[0], self.boundaries + 1
        self.write(GRADIENTS[0], struct.pack("<I", step * (self.rank + 1)) * (PART // 4))
        item = struct.pack("<QIIIiQQQdQ", 7, 0, 2, 0, -1, PART // 4, at, at, 1.0, 0)
        self.send("collective", 1, payload=item)
        live = b"".join(struct.pack("<QQQ", self.base + at, size, n) for n, (at, size) in enumerate(self.blocks()))
        self.send("live_set", len(self.blocks()), payload=live)
        self.send("step_begin", step)
        if waits:
            self.send("copy_d2h", at, 4, 0, 0)
        self.send("copy_d2d", self.base + PART * (step % PARTS), at, PART)
        self.boundaries = step
        self.send("boundary", step, len(self.blocks()), payload=live)

    def blocks(self) -> tuple[tuple[int, int], ...]:
        return PARAMETERS, STATISTICS


class Ranks:
    """A job and its service; waits says what its steps do."""

    looks = 0  # that the service has taken at its jobs

    def __init__(self, service: Service, count: int, waits: bool) -> None:
        self.service, self.waits = service, waits
        self.ranks = [Rank(service, gpu, rank=gpu, world_size=count) for gpu in range(count)]
        self.threads = ThreadPoolExecutor(count)
        joins = [one.begin(rank, count) for rank, one in enumerate(self.ranks)]
        for one, sequence in zip(self.ranks, joins, strict=True):
            one.wait(sequence)

    def until(self, condition: Callable[[], Any]) -> Any:
        """Minibatches until it is so."""
        for _ in range(MOST_MINIBATCHES):
            if found := condition():
                return found
            for one in self.ranks:
                one.minibatch(self.waits)
            self.parameters()
            seen = Ranks.looks
            until(lambda seen=seen: Ranks.looks > seen + 1, 30, "the service looks at the job")
        raise AssertionError(f"not in {MOST_MINIBATCHES} minibatches")

    def parameters(self) -> list[bytes]:
        """Of all ranks; read at once, as each rank's work needs the others'."""
        return list(self.threads.map(lambda one: one.read(*PARAMETERS), self.ranks))

    def policies(self) -> set[str]:
        return {one["policy"] for one in stats_of(self.service.registry.sessions.values()).values()}

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
def job(directory: Path, count: int, heal: bool = False, waits: bool = False) -> Iterator[Ranks]:
    config = Config(
        socket=str(directory / "s"), gpus=count, snapshot_bytes=1 << 30, threads=1, validate_every=0, heal_replicas=heal
    )
    service = Service(config)
    try:
        service.start()
        ranks = Ranks(service, count, waits)
        yield ranks
        ranks.close()
    finally:
        service.stop()


@pytest.fixture(autouse=True)
def looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service looks often, and minibatches wait for it: it has to see two of them in a row."""

    def tick(policies: Policies) -> None:
        TICK(policies)
        Ranks.looks += 1

    monkeypatch.setattr(Policies, "tick", tick)
    monkeypatch.setattr("jitc.proxy.recovery.peer_mode.policy.MEASURE_EVERY", 3)
    for pause in ("MEASURING_SECONDS", "IDLE_SECONDS"):
        monkeypatch.setattr(f"jitc.proxy.recovery.coordinator.{pause}", 0.001)


def status(ranks: Ranks) -> list[int]:
    import json

    document = json.loads(ranks.ranks[0].admin.Status(control_pb2.StatusRequest(), timeout=30).json)
    return [one["diverged"] for gpu in document["gpus"] for one in gpu["sessions"]]


def test_two_ranks_are_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with job(tmp_path, 2) as ranks:
        ranks.until(lambda: ranks.policies() == {"peer"})
        assert status(ranks) == [0, 0] and ranks.service.divergences() == []
        ranks.flip(1)
        [found] = ranks.until(ranks.service.divergences)
        labels = [ranks.label(0), ranks.label(1)]
        assert (found["sessions"], found["odd"]) == (labels, [])
        assert [(one["rank"], one["bytes"]) for one in found["blocks"]] == [(one, PARAMETERS[1]) for one in labels]
        assert found["outcome"] == "left as it is"
        assert status(ranks) == [1, 1]
        ranks.until(lambda: all(one.notices for one in ranks.ranks))
        for one in ranks.ranks:
            assert f"at boundary {found['boundary']} 1 block that ranks held equal before differs" in one.notices[0]
            assert all(label in one.notices[0] for label in labels)
        # Peers cannot be relied on any more.
        ranks.until(lambda: ranks.policies() == {"copy"})
        first, second = ranks.parameters()
        assert sum(a != b for a, b in zip(first, second, strict=True)) == 1
    lines = [line for line in capfd.readouterr().err.splitlines() if "copies of all blocks" in line]
    assert lines and all(f"{labels[0]}, {labels[1]}: copies" in line for line in lines)
    assert not [line for line in lines if "session" in line]


@pytest.mark.parametrize("waits", [False, True])
def test_the_odd_one_is_healed(tmp_path: Path, waits: bool, capfd: pytest.CaptureFixture[str]) -> None:
    """In peer mode; and where nothing is measured any more, as the step waits for results."""
    with job(tmp_path, 4, heal=True, waits=waits) as ranks:
        if waits:
            ranks.until(lambda: "copies of all blocks (the optimizer step" in capfd.readouterr().err)
        else:
            ranks.until(lambda: ranks.policies() == {"peer"})
        assert ranks.service.divergences() == []
        ranks.flip(2)
        [found] = ranks.until(ranks.service.divergences)
        assert found["odd"] == [ranks.label(2)]
        assert [one["rank"] for one in found["blocks"]] == [ranks.label(2)]
        ranks.until(lambda: "healed at boundary" in ranks.service.divergences()[0]["outcome"])
        assert differences(ranks.service.divergences(), example("jitc report --json")["divergences"]) == []
        first, *others = ranks.parameters()
        assert others == [first] * 3
        recoveries = ranks.until(ranks.service.recoveries)  # more than one when the job was too fast at first
        assert {(one["cause"], one["outcome"]) for one in recoveries} == {("replica-divergence", "recovered")}
        assert status(ranks) == [0] * 4
        assert any("replicas agree again" in line for line in ranks.ranks[2].notices)
        # What is kept is the healed content: a worker lost now comes back with it.
        before = len(ranks.service.recoveries())
        os.kill(ranks.session(2).worker.pid, 9)
        ranks.until(lambda: len(ranks.service.recoveries()) > before)
        first, *others = ranks.parameters()
        assert others == [first] * 3
        assert len(ranks.service.divergences()) == 1


def test_the_odd_one_is_named_and_left(tmp_path: Path) -> None:
    with job(tmp_path, 3) as ranks:
        ranks.until(lambda: ranks.policies() == {"peer"})
        ranks.flip(0)
        [found] = ranks.until(ranks.service.divergences)
        assert found["odd"] == [ranks.label(0)]
        assert found["outcome"] == "left as it is; jitc-proxyd --heal-replicas takes the majority's bytes"
        assert status(ranks) == [1, 0, 0]
        ranks.until(lambda: ranks.ranks[0].notices)
        assert "may have flipped" in ranks.ranks[0].notices[0]
        assert ranks.service.recoveries() == []
