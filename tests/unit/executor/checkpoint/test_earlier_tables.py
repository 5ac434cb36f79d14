"""Rows of measured boundaries stay known for a while after nothing can go back to them, in bounded memory.

The service asks for a boundary's rows when it gets to it, which for a job with steps of some milliseconds is later than
the next boundaries.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from executor_rig import BASE, MIB, Client, Shared, make_executor, stats, wait_for

from jitc.proxy.common.executor import Executor, ExecutorError

pytestmark = pytest.mark.usefixtures("device")

TABLES, ROWS = 8, 1 << 16


class Rig:
    """A session whose every boundary is measured, unless a test says otherwise."""

    def __init__(self, shared: Shared) -> None:
        self.executor: Executor = make_executor()
        self.executor.open_session(shared.request())
        self.client = Client(self.executor)
        self.client.attach()
        self.client.op("allocate", BASE, 4 * MIB)
        self.measure(1)

    def measure(self, every: int) -> None:
        self.executor.command("SetPolicy", {"session": 1, "copy_all": True, "measure_every": every})

    def boundary(self, blocks: int = 2) -> None:
        """Each has another content. Most of many blocks are empty, so that only their rows take memory."""
        client = self.client
        client.op("fill", BASE, 4096, client.boundaries + 1, 1)
        client.step_begin()
        client.boundary([(BASE + 16 * number, 16 if number < 2 else 0, number) for number in range(blocks)])
        client.flush()
        wait_for(lambda: stats(self.executor)["committed"] == client.boundaries)

    def table(self, number: int, earlier: bool = True) -> dict[str, Any]:
        return self.executor.command("BoundaryTable", {"session": 1, "boundary": number, "earlier": earlier})

    def known(self) -> list[int]:
        """Boundaries whose rows are known."""
        found = []
        for number in range(1, self.client.boundaries + 1):
            try:
                assert self.table(number)["boundary"] == number
            except ExecutorError as error:
                assert f"boundary {number} is not kept here" in str(error)
            else:
                found.append(number)
        return found


@pytest.fixture
def rig(shared: Shared) -> Iterator[Rig]:
    made = Rig(shared)
    yield made
    made.executor.close()


def test_the_last_ones_are_known(rig: Rig) -> None:
    tables = []
    for number in range(1, 2 * TABLES):
        rig.boundary()
        tables.append(rig.table(number))
    newest = rig.client.boundaries
    assert rig.known() == list(range(newest - TABLES, newest + 1))
    for number in rig.known()[:-1]:
        seen, now = tables[number - 1], rig.table(number)
        assert [row["hash"] for row in now["rows"]] == [row["hash"] for row in seen["rows"]]
        assert (now["measured"], now["step_has_waits"]) == (True, False)
        assert not any(row["copied"] for row in now["rows"]), "its copies have been given back"
        with pytest.raises(ExecutorError, match=f"boundary {number} is not kept here"):
            rig.table(number, earlier=False)
    assert len({table["rows"][0]["hash"] for table in tables}) == len(tables)


def test_what_was_not_measured_is_forgotten_at_once(rig: Rig) -> None:
    rig.boundary()
    rig.measure(0)
    for _ in range(3):
        rig.boundary()
    assert rig.known() == [1, 4]


def test_many_rows_are_known_of_fewer_boundaries(rig: Rig) -> None:
    for _ in range(4):
        rig.boundary(ROWS // 2)
    assert rig.known() == [2, 3, 4]  # the newest one can be gone back to
    rig.boundary(ROWS + 1)
    rig.boundary()
    assert rig.known() == [6], "not even one of so many rows is kept, nor any before it"
    for _ in range(3):
        rig.boundary()
    assert rig.known() == [6, 7, 8, 9]


def test_a_roll_back_forgets_them(rig: Rig) -> None:
    """What comes again is measured again."""
    for _ in range(4):
        rig.boundary()
    rig.executor.command("Fence", {"session": 1, "epoch": 1})
    assert rig.executor.command("Rollback", {"session": 1, "boundary": 4})["complete"]
    rig.executor.command("Resume", {"session": 1, "epoch": 1, "slots": [0]})
    rig.boundary()
    assert rig.known() == [4, 5]
