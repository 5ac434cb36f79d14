"""Blocks that a step leaves alone: boundaries share one copy of them, which stays as long as one of them needs it."""

from __future__ import annotations

import random

import pytest
from executor_rig import BASE, MIB, Client, Shared, make_executor, stats, wait_for

from jitc.proxy.common.executor import Executor

pytestmark = pytest.mark.usefixtures("device")
BLOCKS = 4
LIVE = [(BASE + number * MIB, MIB, number) for number in range(BLOCKS)]


@pytest.fixture
def client(shared: Shared, executors: list[Executor]) -> Client:
    executors.append(make_executor())
    executors[-1].open_session(shared.request())
    made = Client(executors[-1])
    made.attach()
    made.op("allocate", BASE, BLOCKS * MIB)
    return made


def fill(client: Client, block: int, value: int) -> None:
    client.op("fill", BASE + block * MIB, MIB, value, 1)


def step(client: Client, changes: dict[int, int]) -> None:
    client.step_begin()
    for block, value in changes.items():
        fill(client, block, value)
    client.boundary(LIVE)
    client.flush()
    wait_for(lambda: stats(client.executor)["committed"] == client.boundaries)


def content(client: Client, base: int = BASE) -> list[int]:
    """The value of each block, which is the same in all of its bytes."""
    found = [client.call("copy_d2h", base + number * MIB, MIB).payload for number in range(BLOCKS)]
    assert all(one == one[:1] * MIB for one in found)
    return [one[0] for one in found]


def lose_worker(client: Client, shared: Shared, executors: list[Executor], epoch: int) -> None:
    """Its memory is gone; another one goes back to the newest boundary and on."""
    executors.pop().close()
    executors.append(make_executor())
    executors[-1].open_session(shared.request(rebuild=True, epoch=epoch))
    client.reconnect(executors[-1])
    go_back(client, epoch)


def go_back(client: Client, epoch: int) -> None:
    boundary = client.executor.command("Fence", {"session": 1, "epoch": epoch})["prepared"]
    assert boundary == client.boundaries
    reply = client.executor.command("Rollback", {"session": 1, "epoch": epoch, "boundary": boundary})
    assert reply["complete"], reply
    client.executor.command("Resume", {"session": 1, "epoch": epoch, "slots": [0]})


def test_unchanged_blocks_are_not_copied_again(client: Client, shared: Shared, device: str) -> None:
    step(client, dict(enumerate((1, 2, 3, 4))))
    for value in range(10, 18):
        step(client, {0: value})
        assert stats(client.executor)["snapshot_bytes"] == BLOCKS * MIB
    # Of the changing block there are two copies in turns. A device that hashes no faster than it copies has
    # copied all once more before it knew.
    assert shared.used("snapshot") <= (BLOCKS + 1 if device == "cuda" else 2 * BLOCKS) * MIB
    assert content(client) == [17, 2, 3, 4]


def test_a_shared_copy_outlives_the_boundary_that_made_it(
    client: Client, shared: Shared, executors: list[Executor]
) -> None:
    step(client, dict(enumerate((1, 2, 3, 4))))
    for value in (5, 6, 7):
        step(client, {1: value})
    fill(client, 2, 99)  # the minibatch under way
    lose_worker(client, shared, executors, epoch=1)
    assert content(client) == [1, 7, 99, 4]
    step(client, {})
    go_back(client, epoch=2)
    lose_worker(client, shared, executors, epoch=3)
    assert content(client) == [1, 7, 99, 4]
    assert stats(client.executor)["snapshot_bytes"] == BLOCKS * MIB


def test_the_same_content_in_other_memory_has_a_copy_of_its_own(
    client: Client, shared: Shared, executors: list[Executor]
) -> None:
    step(client, dict.fromkeys(range(BLOCKS), 1))
    other = BASE + 64 * MIB
    client.op("free", BASE)
    client.call("allocate", other, BLOCKS * MIB)
    client.op("fill", other, BLOCKS * MIB, 1, 1)
    client.step_begin()
    client.boundary([(other + number * MIB, MIB, number) for number in range(BLOCKS)])
    client.flush()
    wait_for(lambda: stats(client.executor)["committed"] == 2)
    lose_worker(client, shared, executors, epoch=1)
    assert content(client, other) == [1] * BLOCKS


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.sampled
def test_identical_whatever_changes_and_is_lost(
    client: Client, shared: Shared, executors: list[Executor], seed: int
) -> None:
    """Each step changes some blocks, none or all, sometimes to what they were; the worker is lost between steps."""
    rng = random.Random(seed)
    wanted, losses = [0] * BLOCKS, 0
    step(client, dict(enumerate(wanted)))
    for _ in range(16):
        changes = {block: rng.randrange(3) for block in rng.sample(range(BLOCKS), rng.choice((0, 1, 1, BLOCKS)))}
        wanted = [changes.get(block, value) for block, value in enumerate(wanted)]
        step(client, changes)
        assert stats(client.executor)["snapshot_bytes"] == BLOCKS * MIB
        if rng.random() < 0.4:
            losses += 1
            lose_worker(client, shared, executors, losses)
            assert content(client) == wanted
    assert losses > 1
    assert content(client) == wanted
