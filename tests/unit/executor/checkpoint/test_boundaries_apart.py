"""Boundaries that are skipped: a fault goes back to the newest one that was made, and all since runs again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from executor_rig import BASE, MIB, Client, Shared, make_executor, stats, wait_for
from job_rig import BLOCK, Job, digest, undisturbed
from rank_rig import Rank, minibatch, start_two, stop
from recovery_rig import RESTORED, Recoveries

from jitc.proxy.common.executor import Executor

EVERY = 4


class Program:
    """Of one rank, which makes every fourth boundary."""

    def __init__(self, shared: Shared, executors: list[Executor], seed: int = 0) -> None:
        self.shared, self.executors, self.epoch = shared, executors, 0
        executors.append(make_executor())
        self.executor.open_session(shared.request())
        self.client, self.job = Client(self.executor), Job(seed)
        self.client.attach()
        self.job.begin(self.client)
        self.executor.command("SetSpacing", {"session": 1, "every": EVERY})

    @property
    def executor(self) -> Executor:
        return self.executors[-1]

    def run(self, minibatches: int) -> None:
        for _ in range(minibatches):
            self.job.minibatch(self.client)
        self.client.flush()
        wait_for(lambda: self.stats("boundary") == self.client.boundaries)

    def stats(self, name: str) -> int:
        return int(stats(self.executor)[name])

    def made(self) -> int:
        return int(stats(self.executor)["boundary_phases"]["boundaries"])

    def recover(self, lost: bool) -> int:
        """The boundary that it goes back to."""
        self.epoch += 1
        if lost:
            self.executor.close()
            self.executors.append(make_executor())
            self.executor.open_session(self.shared.request(rebuild=True, epoch=self.epoch))
            self.client.reconnect(self.executor)
        prepared = int(self.executor.command("Fence", {"session": 1, "epoch": self.epoch})["prepared"])
        reply = self.executor.command("Rollback", {"session": 1, "epoch": self.epoch, "boundary": prepared})
        assert reply["complete"], reply
        self.executor.command("Resume", {"session": 1, "epoch": self.epoch, "slots": [0]})
        return prepared


@pytest.mark.usefixtures("device")
def test_one_is_made_before_a_step_that_is_to_be_validated(shared: Shared, executors: list[Executor]) -> None:
    """Not all minibatches since the newest one are to run again."""
    program = Program(shared, executors)
    program.run(5)
    wait_for(lambda: program.stats("committed") == 4)
    assert not program.executor.command("Validate", {"session": 1, "step": 7})["standing"]
    for _ in range(2):
        program.job.minibatch(program.client)
    program.client.flush()
    wait_for(lambda: stats(program.executor)["state"] == "faulted")
    wait_for(lambda: (program.stats("boundary"), program.stats("committed")) == (6, 6))


@pytest.mark.usefixtures("device")
def test_only_some_are_made(shared: Shared, executors: list[Executor]) -> None:
    program = Program(shared, executors)
    program.run(11)
    wait_for(lambda: program.stats("committed") == 8)
    assert (program.made(), program.stats("boundary")) == (3, 11)  # 1, 4, 8
    program.executor.command("SetSpacing", {"session": 1, "every": 1})
    program.run(2)
    wait_for(lambda: program.stats("committed") == 13)
    assert program.made() == 5


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("lost", [False, True], ids=["in-place", "worker-lost"])
@pytest.mark.parametrize("minibatches", range(1, 10))
def test_back_to_the_newest_that_was_made(
    shared: Shared, executors: list[Executor], minibatches: int, lost: bool
) -> None:
    expected, values = undisturbed(12, seed=3)
    program = Program(shared, executors, seed=3)
    program.run(minibatches)
    program.job.forward(program.client)  # part of the next one
    program.client.flush()
    assert program.recover(lost) == max(1, minibatches // EVERY * EVERY)
    assert program.recover(lost) == max(1, minibatches // EVERY * EVERY)  # a fault in the replay
    client = program.client
    client.step_begin()
    client.op("copy_d2d", BASE, BASE + BLOCK + 1024, 4096, phase=2)
    client.boundary([(BASE + i * BLOCK, BLOCK, i) for i in range(8)])
    program.run(12 - minibatches - 1)
    assert digest(client) == expected
    client.drain()
    assert program.job.values(client) == values


@pytest.mark.usefixtures("device")
def test_one_is_made_before_the_journal_is_full(executors: list[Executor]) -> None:
    shared = Shared(journal=16 * MIB)
    try:
        program = Program(shared, executors)
        program.executor.command("SetSpacing", {"session": 1, "every": 1024})
        client = program.client
        for value in range(20):
            client.op("copy_h2d", BASE, MIB, payload=bytes([value]) * MIB)
            program.run(1)
        assert 2 <= program.made() < 12
        assert stats(program.executor)["protected"]
        assert program.recover(lost=True) > 1
    finally:
        shared.close()


@pytest.mark.usefixtures("device")
def test_one_that_somebody_waits_for_is_made(shared: Shared, executors: list[Executor]) -> None:
    program = Program(shared, executors)
    program.run(5)
    program.executor.command("Hold", {"session": 1, "boundary": 6})
    program.job.minibatch(program.client)
    program.client.flush()
    wait_for(lambda: program.stats("boundary") == 6)
    assert program.recover(lost=False) == 6


@pytest.mark.usefixtures("device")
def test_without_anything_to_go_back_to_none_is_skipped(executors: list[Executor]) -> None:
    shared = Shared(snapshot=MIB)
    try:
        program = Program(shared, executors)
        client = program.client
        client.step_begin()
        client.boundary([(BASE, 2 * MIB, 0)])  # does not fit
        client.drain()
        assert not stats(program.executor)["protected"]
        client.step_begin()
        client.boundary([(BASE, BLOCK, 0)])
        client.drain()
        assert stats(program.executor)["protected"]
        assert program.recover(lost=True) == 2
    finally:
        shared.close()


# -- two ranks --------------------------------------------------------------------------------------


@pytest.fixture
def ranks() -> Iterator[list[Rank]]:
    made = start_two()
    yield made
    stop(made)


@pytest.fixture(scope="module")
def expected() -> list[str]:
    ranks = start_two()
    for _ in range(12):
        minibatch(ranks)
    found = [one.content() for one in ranks]
    stop(ranks)
    return found


@pytest.mark.parametrize("lost", [[0], [1], [0, 1]], ids=str)
@pytest.mark.parametrize("spacings", [(4, 4), (4, 8), (1, 4)], ids=str)
@pytest.mark.parametrize("minibatches", [3, 6, 9])
def test_ranks_go_back_to_one_that_all_have(
    ranks: list[Rank], expected: list[str], minibatches: int, spacings: tuple[int, int], lost: list[int]
) -> None:
    for one, every in zip(ranks, spacings, strict=True):
        one.command("SetSpacing", every=every)
    for _ in range(minibatches):
        minibatch(ranks)
    recoveries = Recoveries(ranks)
    for _ in range(2):
        assert recoveries.run(lost) == RESTORED
        assert recoveries.boundary == max(1, minibatches // max(spacings) * max(spacings))
        recoveries.resume()  # the second fault comes in the replay
    while ranks[0].client.boundaries < 12:
        minibatch(ranks)
    assert [one.content() for one in ranks] == expected
