"""Results that a replay gives otherwise: numbers within the bound are tolerated and counted, all else is a fault.

A block that the boundary does not name is not restored, so a read of it sees in replay what was written later.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest
from executor_rig import BASE, MIB, Client, Control, Shared, make_executor, stats, wait_for

pytestmark = pytest.mark.usefixtures("device")
UNKNOWN, F16, BF16, F32, F64 = range(5)
FORMAT = {F16: "e", F32: "f", F64: "d", UNKNOWN: "i"}


def packed(element: int, *values: float) -> bytes:
    if element == BF16:
        return b"".join(struct.pack("<f", one)[2:] for one in values)
    numbers = [int(one) for one in values] if element == UNKNOWN else values
    return struct.pack(f"<{len(values)}{FORMAT[element]}", *numbers)


class Rig:
    """The program has read `had`; its replay reads `now`."""

    def __init__(self) -> None:
        self.shared, self.control = Shared(), Control()
        self.executor = make_executor(self.control, poison=False)
        self.executor.open_session(self.shared.request())
        self.client = Client(self.executor)
        self.client.attach()
        self.client.op("allocate", BASE, 2 * MIB)

    def read(self, element: int, had: bytes, now: bytes) -> None:
        self.client.op("copy_h2d", BASE, len(had), payload=had)
        self.client.step_begin()
        self.client.boundary([])
        assert self.client.call("copy_d2h", BASE, len(had), element).payload == had
        self.client.op("copy_h2d", BASE, len(now), payload=now)
        self.client.flush()
        self.client.drain()

    def replay(self, bound: float, epoch: int = 1) -> None:
        session = {"session": 1, "epoch": epoch}
        self.executor.command("Fence", session)
        assert self.executor.command("Rollback", session | {"boundary": 1})["complete"]
        self.executor.command("Resume", session | {"slots": [0], "bound": bound})

    def refused(self) -> tuple[str, str]:
        wait_for(lambda: self.control.faults)
        return self.control.faults[0][3:]

    def differences(self) -> dict[str, float]:
        wait_for(lambda: stats(self.executor)["executed"] == self.client.sequence)
        assert self.control.faults == []
        found: dict[str, float] = stats(self.executor)["differences"]
        return found


@pytest.fixture
def rig() -> Iterator[Rig]:
    one = Rig()
    yield one
    one.executor.close()
    one.shared.close()


@pytest.mark.parametrize(
    ("element", "largest"),
    [(F16, 1 / 1024), (BF16, 1 / 128), (F32, 1e-3), (F64, 1e-9)],
    ids=["f16", "bf16", "f32", "f64"],
)
def test_numbers_within_the_bound(rig: Rig, element: int, largest: float) -> None:
    rig.read(element, packed(element, 1.0, -2.0, 0.0), packed(element, 1.0 + largest, -2.0, 0.0))
    rig.replay(1e-2)
    found = rig.differences()
    assert found["results"] == 1
    assert found["largest"] == pytest.approx(largest / 2, rel=1e-3)  # of the largest element


def test_each_replay_counts_anew(rig: Rig) -> None:
    rig.read(F32, packed(F32, 1.0), packed(F32, 1.001))
    for epoch in (1, 2):
        rig.replay(1e-2, epoch)
        assert rig.differences()["results"] == 1


def test_the_same_numbers_in_other_bytes(rig: Rig) -> None:
    """A number that is none stays none, and zero has two signs."""
    nan = packed(F32, 0.0, float("nan"), float("inf"))
    rig.read(F32, nan, packed(F32, -0.0) + b"\1\0\xc0\x7f" + nan[8:])
    rig.replay(1e-9)
    assert rig.differences() == {"results": 1, "largest": 0.0}


@pytest.mark.parametrize(
    ("element", "had", "now", "why"),
    [
        (F32, 1.0, 1.1, "more than the 0.01 that is tolerated"),
        (F32, 1.0, float("nan"), "zero, infinite or no number"),
        (F32, float("nan"), 1.0, "zero, infinite or no number"),
        (F32, 1.0, float("inf"), "zero, infinite or no number"),
        (F32, float("inf"), float("-inf"), "zero, infinite or no number"),
        (F32, 0.0, 1e-30, "zero, infinite or no number"),
        (UNKNOWN, 7, 8, "it steers what the program does next"),
    ],
)
def test_what_steers_the_program_ends_the_replay(rig: Rig, element: int, had: float, now: float, why: str) -> None:
    rig.read(element, packed(element, had), packed(element, now))
    rig.replay(1e-2)
    cause, message = rig.refused()
    assert cause == "replay-astray"
    assert why in message, message


def test_without_a_bound_bytes_count(rig: Rig) -> None:
    rig.read(F32, packed(F32, 0.0), packed(F32, -0.0))
    rig.replay(0.0)
    assert rig.refused()[0] == "replay-mismatch"


def test_reads_that_steer_are_counted(rig: Rig) -> None:
    rig.read(F32, packed(F32, 1.0), packed(F32, 1.0))
    assert stats(rig.executor)["steering_reads"] == 0
    rig.client.call("copy_d2h", BASE, 4, UNKNOWN)
    assert stats(rig.executor)["steering_reads"] == 1
