"""Communicators that all of their ranks have destroyed: nothing of them is left that grows, and a replay finds them."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from standin_client import letting_go, structures

from jitc.proxy.keeper.log import Log
from jitc.proxy.node.joins import retired
from jitc.proxy.node.joins.communicators import EXTERNAL_DEVICE, Communicator, Communicators, Refusal

MANY = 20_000


class Process:
    """A session, as far as it matters here."""

    def __init__(self, number: int) -> None:
        self.number, self.pid = number, 1000 + number


@pytest.fixture(autouse=True)
def _nobody_has_let_go() -> Iterator[None]:
    letting_go.clear()
    yield
    letting_go.clear()


@pytest.fixture
def table() -> Iterator[Communicators]:
    one = Communicators(structures())
    yield one
    one.close()


def name(number: int) -> bytes:
    return number.to_bytes(128, "little")


def made(table: Communicators, processes: list[Process], number: int = 1) -> Communicator:
    *_, last = (table.join(one, name(number), len(processes), rank) for rank, one in enumerate(processes))
    return last


def lets_go(one: Communicator, *ranks: int) -> None:
    """These ranks, as their workers say it in the segment."""
    assert one.segment is not None
    for rank in ranks:
        place = (one.segment.path, rank)
        letting_go[place] = letting_go.get(place, 0) + 1


def connected(table: Communicators) -> list[set[int]]:
    return [set(one) for one in table.connections() if len(one) > 1]


def test_very_many_that_come_and_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Descriptors, what is known and the log stay as they are."""
    monkeypatch.setattr(retired, "REMEMBERED", 200)
    kept: list[int] = []
    log = Log.make(kept.append)
    table, processes = Communicators(structures(), log), [Process(1), Process(2)]
    lasting, seen = made(table, processes, 0), set[tuple[int, int, int]]()
    for number in range(1, MANY + 1):
        one = made(table, processes, number)
        lets_go(one, 0, 1)
        if number % 2000 == 0:
            letting_go.clear()
            lets_go(one, 0, 1)
            seen.add((len(os.listdir("/proc/self/fd")), len(list(table)), len(log.entries(""))))
    assert len(seen) == 1, seen
    ((_, known, entries),) = seen
    assert known == 2 and entries < 210
    assert connected(table) == [{1, 2}] * 3
    assert lasting.segment is not None
    table.close()
    log.close()


def test_only_what_no_rank_has_any_more(table: Communicators) -> None:
    processes = [Process(1), Process(2)]
    one = made(table, processes)
    segment = one.segment
    lets_go(one, 0)
    table.give_back()
    assert one.segment is segment
    table.join(processes[0], name(1), 2, 0)  # again, and what it had before is not what it has now
    lets_go(one, 1)
    table.give_back()
    assert one.segment is segment
    lets_go(one, 0)
    table.give_back()
    assert one.segment is None and list(table) == []
    waiting = table.join(processes[0], name(2), 2, 0)
    lets_go(waiting, 0)
    table.give_back()
    assert list(table) == [waiting], "a rank may still come"


def test_a_replay_comes_to_it_again(table: Communicators) -> None:
    """It gets a new segment, with its peers; nobody else can join it."""
    processes = [Process(1), Process(2)]
    one = made(table, processes)
    identity = one.identity
    lets_go(one, 0, 1)
    table.give_back()
    with pytest.raises(Refusal, match="has been destroyed by all of its ranks") as caught:
        table.join(Process(3), name(1), 2, 0)
    assert caught.value.status == EXTERNAL_DEVICE
    table.renew({1, 2})
    again = made(table, processes)
    assert again is one and again.segment is not None and again.identity != identity
    assert list(table) == [one]
    lets_go(one, 0, 1)
    table.give_back()
    assert list(table) == []


def test_a_rank_that_has_ended_is_not_waited_for(table: Communicators) -> None:
    first, second = Process(1), Process(2)
    one = made(table, [first, second])
    table.leave(second)
    table.left(second)
    lets_go(one, 0)
    table.give_back()
    assert list(table) == [] and one.segment is None
    again = table.join(first, name(1), 2, 0)  # in a recovery of the one that is left
    assert again is one and again.absent | again.parting.keys() == {1}
    lets_go(one, 0)
    table.give_back()
    with pytest.raises(Refusal, match="its rank 1 of 2, process 1002, ended"):
        table.join(Process(3), name(1), 2, 1)
    table.leave(first)
    table.left(first)
    assert not table._retired.items()
    with pytest.raises(Refusal, match="ended"):
        table.join(Process(3), name(1), 2, 1)


def test_who_was_connected_stays_so(table: Communicators) -> None:
    """They may have to go back to where they were, together; until they end."""
    a, b, c, d = (Process(number) for number in (1, 2, 3, 4))
    for number, processes in enumerate(([a, b], [b, c], [d, Process(5)], [a, b]), 1):
        lets_go(made(table, processes, number), 0, 1)
        table.give_back()
    assert connected(table) == [{1, 2, 3}, {4, 5}]
    for one in (d, b):
        table.leave(one)
        table.left(one)
    assert connected(table) == [{1, 3}]


def test_the_next_service_knows_them() -> None:
    log, processes = Log.make(), [Process(1), Process(2)]
    before = Communicators(structures(), log)
    one, other = made(before, processes, 1), made(before, processes, 2)
    lets_go(one, 0, 1)
    before.give_back()
    after = Communicators(structures(), log)
    after.take_over()
    assert [left.given for left in after] == [other.given] == [{0: 1, 1: 1}]
    assert connected(after) == [{1, 2}] * 2
    with pytest.raises(Refusal, match="destroyed"):
        after.join(Process(3), name(1), 2, 0)
    assert made(after, processes, 1).segment is not None
    for table in (before, after):
        table.close()
    log.close()


def test_a_record_of_an_older_service_is_never_taken_for_one_that_is_over(table: Communicators) -> None:
    one = made(table, [Process(1), Process(2)])
    record = one.record()
    del record["given"]
    assert not Communicator.of_record(record).let_go([0, 0])
    assert not Communicator.of_record(record).let_go([1, 1])
    assert one.let_go([1, 1])
