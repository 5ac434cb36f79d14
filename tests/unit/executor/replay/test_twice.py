"""A minibatch run twice: the same twice, and what is named when it is not."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest
from executor_rig import BASE, MIB, Client, Control, Shared, make_executor, stats, wait_for

from jitc.proxy.common.executor import Executor, ExecutorError

pytestmark = pytest.mark.usefixtures("device")

#: Live blocks (offset, bytes, ordinal): the state, which the boundary names, and what a minibatch computes.
STATE, RESULT, SECRET, EMPTY = (0, 4096, 1), (65536, 4096, 2), (131072, 4096, 3), (196608, 4096, 4)


class Rig:
    """One rank whose minibatches derive RESULT from STATE (and SECRET, when told to)."""

    def __init__(self, shared: Shared) -> None:
        self.control = Control()
        self.executor: Executor = make_executor(self.control, poison=False)
        self.executor.open_session(shared.request())
        self.client = Client(self.executor)
        self.client.attach()
        self.client.op("allocate", BASE, 2 * MIB)
        self.client.op("copy_h2d", BASE + STATE[0], 8, payload=b"8 bytes.")
        self.client.op("copy_h2d", BASE + SECRET[0], 8, payload=b"unknown!")

    def minibatch(self, source: tuple[int, int, int] = STATE, live: tuple[tuple[int, int, int], ...] = ()) -> None:
        client = self.client
        client.op("copy_d2d", BASE + RESULT[0], BASE + source[0], RESULT[1])
        rows = [(BASE + offset, size, ordinal) for offset, size, ordinal in (STATE, RESULT, *live)]
        client.op("live_set", len(rows), payload=b"".join(struct.pack("<QQQ", *one) for one in rows))
        client.step_begin()
        client.op("fill", BASE + STATE[0], 16, 0x40 + client.steps, 1)
        client.boundary([(BASE + STATE[0], STATE[1], STATE[2])])
        client.flush()

    def take_back(self, boundary: int) -> None:
        """As the coordinator does."""
        wait_for(lambda: self.control.faults)
        assert self.control.faults == [(1, self.control.faults[0][1], 0, "validation", "")]
        assert self.executor.command("Fence", {"session": 1, "epoch": 1})["begun"] == boundary
        reply = self.executor.command("Rollback", {"session": 1, "epoch": 1, "boundary": boundary})
        assert reply["complete"], reply
        self.executor.command("Resume", {"session": 1, "epoch": 1, "slots": [0]})

    def verdict(self, step: int) -> dict[str, object]:
        wait_for(lambda: stats(self.executor)["validation"]["step"] == step)
        found: dict[str, object] = stats(self.executor)["validation"]
        return found


@pytest.fixture
def rig() -> Iterator[Rig]:
    shared = Shared()
    one = Rig(shared)
    yield one
    one.executor.close()
    shared.close()


def validate(rig: Rig, step: int) -> None:
    assert rig.executor.command("Validate", {"session": 1, "step": step}) == {"standing": False}


def test_the_same_twice(rig: Rig) -> None:
    rig.minibatch()
    validate(rig, 2)
    rig.minibatch()
    rig.take_back(boundary=1)
    verdict = rig.verdict(2)
    assert (verdict["identical"], verdict["blocks"], verdict["bytes"]) == (True, 2, 8192), verdict
    rig.client.drain()
    assert rig.client.call("copy_d2h", BASE, 16).payload == b"B" * 16
    assert stats(rig.executor)["validating"] == 0


def test_what_does_not_come_back_is_named(rig: Rig) -> None:
    """The minibatch reads a block that its boundary did not name as live."""
    rig.minibatch()
    validate(rig, 2)
    rig.minibatch(source=SECRET)
    rig.take_back(boundary=1)
    verdict = rig.verdict(2)
    assert (verdict["identical"], verdict["unwritten"]) == (False, 0), verdict
    different = verdict["different"]
    assert isinstance(different, list)
    assert [(row["address"], row["bytes"]) for row in different] == [(BASE + RESULT[0], RESULT[1])]
    rig.client.drain()
    assert any(b"cannot be guaranteed" in one.payload for one in rig.client.seen)


def test_memory_that_nobody_writes_does_not_count(rig: Rig) -> None:
    rig.minibatch()
    validate(rig, 2)
    rig.minibatch(live=(EMPTY,))
    rig.take_back(boundary=1)
    verdict = rig.verdict(2)
    assert (verdict["identical"], verdict["unwritten"], verdict["blocks"]) == (True, 1, 3), verdict


def test_a_step_that_has_begun_is_refused(rig: Rig) -> None:
    rig.minibatch()
    rig.client.drain()
    with pytest.raises(ExecutorError, match="step 1 has begun already"):
        validate(rig, 1)


def test_who_stands_before_a_step_is_not_asked_for_another(rig: Rig) -> None:
    """The service asks for later and later steps as long as a rank refuses; others may stand before an earlier one."""
    rig.minibatch()
    validate(rig, 2)
    rig.minibatch()
    wait_for(lambda: rig.control.faults)
    assert rig.executor.command("Validate", {"session": 1, "step": 4}) == {"standing": True}
    rig.take_back(boundary=1)
    assert rig.verdict(2)["identical"]
    validate(rig, 3)
    assert stats(rig.executor)["validating"] == 3


def test_what_a_step_does_is_known_at_its_boundary(rig: Rig) -> None:
    """A step that waits for results cannot be skipped: the service looks at this."""
    client = rig.client

    def found() -> bool:
        client.boundary([(BASE + STATE[0], STATE[1], STATE[2])])
        client.flush()
        wait_for(lambda: stats(rig.executor)["boundary"] == client.boundaries)
        table = rig.executor.command("BoundaryTable", {"session": 1, "boundary": client.boundaries})
        return bool(table["step_has_waits"])

    client.step_begin()
    assert not found()
    client.step_begin()
    client.call("copy_d2h", BASE, 16)
    assert found()
    client.step_begin()
    client.op("allocate", BASE + 4 * MIB, MIB)
    assert not found()
    client.call("copy_d2h", BASE, 16)
    client.step_begin()
    assert not found()
