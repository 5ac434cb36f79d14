"""Blocks of a lost rank that come from its peer's device: two ranks on the cuda device, with fake driver and NCCL.

Each rank has a fake GPU of its own. The tests play the coordinator, as in test_peers.py.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from executor_rig import library, wait_for
from rank_rig import BLOCK, CLASSES, Rank, minibatch, start_two, stop
from toolkit.fakes import fake_library

from jitc.proxy.common import executor as binding
from jitc.proxy.common.executor import ExecutorError

Reply = dict[str, Any]


@pytest.fixture(autouse=True)
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copies of the fakes, whose state is this test's own; the file of failures asked for."""
    monkeypatch.setenv("JITC_FAKE_DEVICES", "2")
    monkeypatch.setenv("JITC_FAKE_FAIL_FILE", str(tmp_path / "failures"))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    for name, variables in {"cuda": ("JITC_TEST_DRIVER", "JITC_FAKE_CUDA"), "nccl": ("JITC_TEST_NCCL",)}.items():
        copy = shutil.copy(fake_library(name), tmp_path / f"libfake_{name}.so")
        for variable in variables:
            monkeypatch.setenv(variable, str(copy))
    return tmp_path / "failures"


@pytest.fixture
def ranks(fakes: Path) -> Iterator[list[Rank]]:
    made = start_two()
    yield made
    stop(made)


class DirectTransfer:
    """Calls of both ends at once, and the shared memory in which they meet."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self.pool = pool
        self.size = int(binding.load(library()).jitc_segment_bytes(2))
        self.fd = os.memfd_create("test-transfer")
        os.ftruncate(self.fd, self.size)

    def request(self, epoch: int) -> dict[str, Any]:
        path = f"/proc/{os.getpid()}/fd/{self.fd}"
        return {"epoch": epoch, "path": path, "path_bytes": self.size, "timeout_ms": 60_000}

    def receive(self, rank: Rank, blocks: list[Reply]) -> Future[Reply]:
        return self.pool.submit(rank.command, "Receive", blocks=blocks, **self.request(1))

    def move(self, ranks: list[Rank], blocks: tuple[list[Reply], ...]) -> tuple[Reply, Reply]:
        sending = self.pool.submit(ranks[0].command, "Send", blocks=blocks[0], **self.request(1))
        receiving = self.receive(ranks[1], blocks[1])
        return sending.result(90), receiving.result(90)


@pytest.fixture
def transfer() -> Iterator[DirectTransfer]:
    with ThreadPoolExecutor(2) as pool:
        made = DirectTransfer(pool)
        yield made
        os.close(made.fd)


def peer_mode(ranks: list[Rank]) -> None:
    for one in ranks:
        one.command("SetPolicy", copy_all=True, barrier=True, measure_every=1, **CLASSES)
    minibatch(ranks)
    for one in ranks:
        one.command("SetPolicy", copy_all=False, barrier=True, **CLASSES)
    minibatch(ranks)


def lose_second(ranks: list[Rank]) -> tuple[Reply, Reply]:
    """In the forward pass after boundary 2; replies of both to the roll-back."""
    peer_mode(ranks)
    for one in ranks:
        one.forward()
    ranks[1].client.drain()
    ranks[1].lose()
    ranks[0].command("Fence", epoch=1)
    ranks[1].rebuild(1)
    ranks[1].command("Fence", epoch=1)
    first, second = (one.command("Rollback", boundary=2) for one in ranks)
    return first, second


def ends(ranks: list[Rank], missing: list[Reply], hashes: dict[int, str] | None = None) -> tuple[list[Reply], ...]:
    """Blocks as the sender and as the receiver are told of them."""
    held = {row["ordinal"]: row for row in ranks[0].command("BoundaryTable", boundary=2)["rows"]}
    sent = [{name: held[row["ordinal"]][name] for name in ("address", "bytes", "hash")} for row in missing]
    received = [
        {"address": row["address"], "bytes": row["bytes"], "hash": (hashes or {}).get(row["ordinal"], row["hash"])}
        for row in missing
    ]
    return sent, received


def through_host(ranks: list[Rank], blocks: tuple[list[Reply], ...]) -> None:
    fd = os.memfd_create("test-transfer")
    path = f"/proc/{os.getpid()}/fd/{fd}"
    for one, method, end in zip(ranks, ("Export", "Import"), blocks, strict=True):
        one.command(method, boundary=2, path=path, blocks=[{**block, "offset": 0} for block in end])
    os.close(fd)


def go_on(ranks: list[Rank]) -> list[str]:
    for one in ranks:
        one.command("Resume", epoch=1, slots=[0, 1])
    for one in ranks:
        one.step()
        one.finish()
    minibatch(ranks)
    return [one.content() for one in ranks]


@pytest.fixture
def expected(fakes: Path) -> list[str]:
    """What memory holds after four minibatches without a fault."""
    ranks = start_two()
    for _ in range(4):
        minibatch(ranks)
    contents = [one.content() for one in ranks]
    stop(ranks)
    return contents


def test_a_lost_rank_gets_its_blocks_from_its_peers_device(
    expected: list[str], ranks: list[Rank], transfer: DirectTransfer
) -> None:
    first, second = lose_second(ranks)
    assert first["links"] and second["links"]
    assert [row["ordinal"] for row in second["missing"]] == [0] and second["missing"][0]["hash"]
    sent, received = transfer.move(ranks, ends(ranks, second["missing"]))
    assert [(one["complete"], one["bytes"], one["message"]) for one in (sent, received)] == [(True, BLOCK, "")] * 2
    assert go_on(ranks) == expected


def test_other_content_is_not_taken(expected: list[str], ranks: list[Rank], transfer: DirectTransfer) -> None:
    missing = lose_second(ranks)[1]["missing"]
    wrong = ends(ranks, missing, {0: "11" * 16})
    sent, received = transfer.move(ranks, wrong)
    assert sent["complete"] and not received["complete"]
    assert "other content" in received["message"]
    through_host(ranks, ends(ranks, missing))
    assert go_on(ranks) == expected


@pytest.mark.parametrize("rule", ["ncclSend:1+=3", "ncclRecv:1+=3", "ncclCommInitRankConfig:1+=2", "ncclWork:1+=6"])
def test_a_transfer_that_fails_leaves_the_host_path(
    rule: str, expected: list[str], ranks: list[Rank], transfer: DirectTransfer, fakes: Path
) -> None:
    missing = lose_second(ranks)[1]["missing"]
    blocks = ends(ranks, missing)
    fakes.write_text(rule)
    sent, received = transfer.move(ranks, blocks)
    assert not received["complete"]  # the sender may have given all of it before it hears
    assert any("NCCL: " in one["message"] for one in (sent, received))
    fakes.write_text("")
    through_host(ranks, blocks)
    assert go_on(ranks) == expected


def test_a_newer_fence_cancels_a_transfer(ranks: list[Rank], transfer: DirectTransfer) -> None:
    """The peer has died meanwhile: nobody will ever send."""
    _, received = ends(ranks, lose_second(ranks)[1]["missing"])
    waiting = transfer.receive(ranks[1], received)
    # The segment has content once the end is there.
    wait_for(lambda: os.pread(transfer.fd, transfer.size, 0) != bytes(transfer.size))
    ranks[1].command("Fence", epoch=2)
    assert (waiting.result(30)["complete"], waiting.result()["message"]) == (False, "the transfer was cancelled")
    late = ranks[1].command("Receive", blocks=received, **transfer.request(1))
    assert late["message"] == "the transfer was cancelled"


def test_what_is_no_transfer_is_refused(ranks: list[Rank], transfer: DirectTransfer) -> None:
    with pytest.raises(ExecutorError, match="Send needs a fenced session"):
        ranks[0].command("Send", blocks=[], **transfer.request(0))
    _, received = ends(ranks, lose_second(ranks)[1]["missing"])
    nowhere = ranks[1].command("Receive", blocks=received, **transfer.request(1) | {"path": "/nowhere"})
    assert not nowhere["complete"] and "cannot open" in nowhere["message"]
    small = ranks[1].command("Receive", blocks=received, **transfer.request(1) | {"path_bytes": 8})
    assert not small["complete"] and "too small" in small["message"]
    strange = ranks[1].command("Receive", blocks=[{"address": 4096, "bytes": 8}], **transfer.request(1))
    assert not strange["complete"] and "not allocated" in strange["message"]


def test_the_software_device_has_no_direct_path(monkeypatch: pytest.MonkeyPatch, transfer: DirectTransfer) -> None:
    monkeypatch.delenv("JITC_TEST_DRIVER")
    ranks = start_two()
    try:
        first, second = lose_second(ranks)
        assert not first["links"] and not second["links"]
        reply = ranks[1].command("Receive", blocks=[], **transfer.request(1))
        assert not reply["complete"] and "through the host only" in reply["message"]
    finally:
        stop(ranks)
