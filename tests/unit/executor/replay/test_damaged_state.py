"""Kept state of which one bit has changed: what is restored is what was kept, or the recovery ends with the reason.

Every kind of kept state, 50 places each; never is anything restored silently that is not what it was.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass

import pytest
from damage_rig import CHUNK_END, PLACES, Flip, Journal, Kept, clone, places, written
from executor_rig import BASE, MIB, Client, Control, Shared, make_executor, stats, wait_for
from job_rig import BLOCK, BLOCKS, Job, begun, digest

from jitc.proxy.common.executor import Executor, ExecutorError

SEED, STEPS = 4, 3
IDENTICAL = "identical"


class LargeJob(Job):
    """Some MiB of ops in each minibatch, so that chunks of the journal end in it."""

    def forward(self, client: Client) -> None:
        for _ in range(6):
            client.op("copy_h2d", BASE + (BLOCKS + 1) * BLOCK, MIB, payload=self.rng.randbytes(MIB))
            client.op("copy_d2d", BASE, BASE + (BLOCKS + 1) * BLOCK, 4096, phase=1)
            client.flush()
        super().forward(client)


def end_of(job: Job, client: Client) -> tuple[str, list[bytes]]:
    """The rest of the program, and what it has then."""
    job.minibatch(client)
    job.minibatch(client)
    client.flush()
    return digest(client), job.values(client)[-3:]


@dataclass
class Lost:
    """A program between two boundaries, whose worker is gone."""

    kept: Kept
    client: Client
    job: Job
    expected: tuple[str, list[bytes]]

    def recovered(self, flip: Flip) -> str:
        """What becomes of it: IDENTICAL, or why it was given up."""
        self.kept.put_back()
        flip.apply(self.kept.shared)
        control, client, job = Control(), clone(self.client), deepcopy(self.job)
        executor = make_executor(control)
        try:
            executor.open_session(self.kept.shared.request(rebuild=True, epoch=1))
            client.reconnect(executor)
            boundary = executor.command("Fence", {"session": 1, "epoch": 1})["prepared"]
            reply = executor.command("Rollback", {"session": 1, "boundary": boundary, "epoch": 1})
            if not reply["complete"]:
                return reply["message"] or "refused"
            executor.command("Resume", {"session": 1, "epoch": 1, "slots": [0]})
            found = end_of(job, client)
            assert not control.faults
            assert found == self.expected, f"silently something else: {flip}"
            return IDENTICAL
        except ExecutorError as error:
            return str(error)
        finally:
            executor.close()


def lose(shared: Shared, job: Job) -> Lost:
    executor = make_executor()
    client = run(shared, executor, job)
    executor.close()
    return Lost(Kept(shared), client, job, undisturbed_end(type(job)))


def run(shared: Shared, executor: Executor, job: Job) -> Client:
    """From its begin to between two boundaries."""
    client = begun(executor, shared, job)
    for _ in range(STEPS):
        job.minibatch(client)
    job.forward(client)
    client.drain()
    return client


def undisturbed_end(kind: type[Job]) -> tuple[str, list[bytes]]:
    """By a run of its own, without any loss."""
    shared, executor, job = Shared(), make_executor(), kind(SEED)
    try:
        return end_of(job, run(shared, executor, job))
    finally:
        executor.close()
        shared.close()


@pytest.fixture(scope="module")
def small() -> Iterator[Lost]:
    shared = Shared()
    yield lose(shared, Job(SEED))
    shared.close()


@pytest.fixture(scope="module")
def spilled() -> Iterator[Lost]:
    """Its journal lies in memory and in the spill file."""
    shared = Shared(journal=9 * MIB, spill=64 * MIB)
    yield lose(shared, LargeJob(SEED))
    shared.close()


def outcomes(lost: Lost, flips: list[Flip]) -> list[str]:
    assert len(flips) == PLACES
    return [lost.recovered(flip) for flip in flips]


def test_copies_in_the_snapshot(small: Lost) -> None:
    found = outcomes(small, places("snapshot", written(small.kept.shared.fds["snapshot"])))
    loud = [one for one in found if one != IDENTICAL]
    assert len(loud) >= PLACES // 4, found  # other places are copies that nobody needs any more
    assert set(loud) == {"1 blocks must come from a peer"}


def test_one_bit_in_each_copy_is_found(small: Lost) -> None:
    """All of them at once; the reply names each."""
    small.kept.put_back()
    shared = small.kept.shared
    for start, end in written(shared.fds["snapshot"]):
        for page in range(start, end, 4096):
            Flip("snapshot", page + 17, 3).apply(shared)
    executor = make_executor()
    try:
        executor.open_session(shared.request(rebuild=True, epoch=1))
        executor.command("Fence", {"session": 1, "epoch": 1})
        reply = executor.command("Rollback", {"session": 1, "boundary": STEPS, "epoch": 1})
        rows = reply["missing"]
        assert not reply["complete"]
        assert [row["address"] for row in rows] == [BASE + one * BLOCK for one in range(BLOCKS)]
        assert all(row["copied"] and row["hash"] for row in rows)
    finally:
        executor.close()


def test_header_of_the_journal(small: Lost) -> None:
    small.kept.put_back()
    found = outcomes(small, places("journal", Journal(small.kept.shared).used_header()))
    assert all(re.search("damaged|no journal|format|other sizes", one) for one in found), found


def test_records_of_the_journal(small: Lost) -> None:
    small.kept.put_back()
    found = outcomes(small, places("journal", Journal(small.kept.shared).ranges("journal")))
    assert all("the journal is damaged at position" in one for one in found), found


@pytest.mark.parametrize("memory", ["journal", "spill"])
def test_records_of_a_large_journal(spilled: Lost, memory: str) -> None:
    spilled.kept.put_back()
    found = outcomes(spilled, places(memory, Journal(spilled.kept.shared).ranges(memory)))
    assert all("the journal is damaged at position" in one for one in found), found


def test_ends_of_chunks(spilled: Lost) -> None:
    """What follows must not vanish silently."""
    spilled.kept.put_back()
    journal = Journal(spilled.kept.shared)
    ends = [
        one
        for memory in ("journal", "spill")
        for one in places(memory, journal.ranges(memory, lambda kind: kind == CHUNK_END), count=PLACES // 2)
    ]
    found = outcomes(spilled, ends)
    assert all("the journal is damaged at position" in one for one in found), found


def test_no_other_kind_becomes_the_end_of_a_chunk(small: Lost) -> None:
    """Kinds that are one bit from it."""
    small.kept.put_back()
    kinds = {2: 2, 4: 1, 7: 0}
    flips = [
        Flip(memory, offset + 4, kinds[kind])
        for kind, memory, offset, _ in Journal(small.kept.shared).records()
        if kind in kinds
    ]
    assert flips
    for flip in flips:
        assert "the journal is damaged at position" in small.recovered(flip)


# -- a worker that lives ----------------------------------------------------------------------------


@dataclass
class Live:
    """A program between two boundaries, whose worker is fenced again and again."""

    shared: Shared
    executor: Executor
    client: Client
    job: Job
    epochs: itertools.count[int]

    def rolled_back(self, flip: Flip | None) -> dict[str, object]:
        epoch = next(self.epochs)
        boundary = self.executor.command("Fence", {"session": 1, "epoch": epoch})["prepared"]
        if flip:
            flip.apply(self.shared)
        reply = self.executor.command("Rollback", {"session": 1, "boundary": boundary, "epoch": epoch})
        if flip:
            flip.apply(self.shared)
        else:
            self.executor.command("Resume", {"session": 1, "epoch": epoch, "slots": [0]})
        return reply


@pytest.fixture
def live() -> Iterator[Live]:
    shared, executor, job = Shared(journal=9 * MIB, spill=64 * MIB), make_executor(), LargeJob(SEED)
    executor.open_session(shared.request())
    client = Client(executor)
    client.attach()
    job.begin(client)
    for _ in range(STEPS):
        job.minibatch(client)
    job.forward(client)
    client.drain()
    yield Live(shared, executor, client, job, itertools.count(1))
    executor.close()
    shared.close()


def test_a_worker_that_lives_looks_at_what_it_goes_back_by(live: Live, spilled: Lost) -> None:
    journal = Journal(live.shared)
    for memory in ("journal", "spill"):
        for flip in places(memory, journal.ranges(memory), count=PLACES // 2):
            reply = live.rolled_back(flip)
            assert not reply["complete"] and "the journal is damaged at position" in str(reply["message"]), flip
    copies = written(live.shared.fds["snapshot"])
    missed = [live.rolled_back(flip)["missing"] for flip in places("snapshot", copies)]
    assert sum(map(bool, missed)) >= PLACES // 4
    # Its header is not read any more, and written again with the next record.
    for flip in places("journal", journal.used_header()):
        assert live.rolled_back(flip)["complete"], flip
    assert live.rolled_back(None)["complete"]
    assert end_of(live.job, live.client) == spilled.expected
    wait_for(lambda: stats(live.executor)["boundary"] == STEPS + 2)
