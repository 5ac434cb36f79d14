"""A session that its process opens after boundaries have passed: it begins with the newest one of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from executor_rig import BASE, FAULT, MIB, Client, Control, Shared, make_executor, stats

pytestmark = pytest.mark.usefixtures("device")
LATE = 7  # boundaries that the process has passed
BLOCK = 4096


class Late:
    """The session, and the worker that has it."""

    def __init__(self) -> None:
        self.shared, self.control = Shared(), Control()
        self.executor = make_executor(self.control)
        self.executor.open_session(self.shared.request())
        self.client = Client(self.executor, boundaries=LATE, steps=LATE)
        self.client.attach()

    def begin(self) -> None:
        self.client.op("boundary", LATE, 0)
        self.client.op("allocate", BASE, 2 * MIB)
        self.client.op("fill", BASE, BLOCK, 5, 1)
        self.client.drain()

    def lose(self) -> None:
        self.executor.close()
        self.executor = make_executor(self.control)
        self.executor.open_session(self.shared.request(rebuild=True))
        self.client.reconnect(self.executor)

    def command(self, method: str, **fields: Any) -> dict[str, Any]:
        return self.executor.command(method, {"session": 1, **fields})

    def back_to(self, boundary: int, epoch: int = 1) -> dict[str, Any]:
        self.command("Fence", epoch=epoch)
        return self.command("Rollback", epoch=epoch, boundary=boundary, timeout_ms=1000)

    def resume(self, epoch: int = 1) -> None:
        self.command("Resume", epoch=epoch, slots=[0])

    def content(self) -> bytes:
        return self.client.call("copy_d2h", BASE, BLOCK).payload

    def boundary(self) -> int:
        return int(stats(self.executor)["boundary"])


@pytest.fixture
def late() -> Iterator[Late]:
    one = Late()
    yield one
    one.executor.close()
    one.shared.close()
    one.control.close()


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("boundary", [LATE, LATE - 1, LATE - 2])
def test_it_goes_back_with_the_others(late: Late, lost: bool, boundary: int) -> None:
    """Also to where it was not there yet, since the others may not all have got to its first boundary."""
    late.begin()
    assert late.boundary() == LATE
    if lost:
        late.lose()
    assert late.back_to(boundary)["complete"]
    assert late.boundary() == boundary
    if lost:  # a second loss before it goes on: the journal says where it stands
        late.lose()
        assert late.command("Fence", epoch=2)["prepared"] == boundary
        assert late.back_to(boundary, epoch=2)["complete"]
    late.resume(epoch=2)
    assert late.content() == bytes([5]) * BLOCK
    assert late.boundary() == LATE
    late.client.boundary([(BASE, BLOCK, 0)])
    late.client.op("fill", BASE, BLOCK, 6, 1)
    late.client.drain()
    assert late.boundary() == LATE + 1
    late.lose()
    assert late.back_to(LATE + 1, epoch=3)["complete"]
    late.resume(epoch=3)
    assert late.content() == bytes([6]) * BLOCK


def test_it_does_not_go_on_to_what_it_has_not_seen(late: Late) -> None:
    late.begin()
    reply = late.back_to(LATE + 1)
    assert not reply["complete"] and "is not kept here" in reply["message"]


def test_only_its_first_op_may_be_another_boundary(late: Late) -> None:
    late.begin()
    late.client.op("boundary", LATE + 2, 0)
    late.client.flush()
    late.client.wait(lambda: late.control.faults)
    ((_, _, _, cause, message),) = late.control.faults
    assert (cause, message) == ("bad-boundary", f"boundary {LATE + 2} does not follow boundary {LATE}")
    assert not [one for one in late.client.seen if one.kind == FAULT]


def test_a_session_from_the_start_has_nothing_before_its_first_boundary(late: Late) -> None:
    late.client.op("allocate", BASE, 2 * MIB)
    late.client.drain()
    reply = late.back_to(1)
    assert not reply["complete"] and "boundary 1 is not kept here" in reply["message"]
