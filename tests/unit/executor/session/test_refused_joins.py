"""Joins of communicators that the node service turns down, as a session sees them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from executor_rig import BASE, MIB, RANGE, Client, Control, Shared, make_executor, wait_for

from jitc.proxy.common.executor import Executor, Joined, JoinRefused, JoinSuperseded

UNIQUE_ID = b"joins".ljust(128, b"\0")


class Service(Control):
    """Answers joins with these, in turn; then with a segment."""

    def __init__(self, *answers: Exception) -> None:
        super().__init__()
        self.answers = list(answers)
        self.epochs: list[int] = []
        self.asked = threading.Event()

    def join(self, session: int, unique_id: bytes, ranks: int, rank: int, epoch: int) -> Joined:
        self.epochs.append(epoch)
        self.asked.set()
        if self.answers:
            raise self.answers.pop(0)
        return super().join(session, unique_id, ranks, rank, epoch)


class Process:
    def __init__(self, control: Service, rank: int, board: Shared | None = None) -> None:
        self.rank, self.shared = rank, Shared()
        self.executor: Executor = make_executor(control, ordinal=rank)
        self.executor.open_session(self.shared.request(session=rank + 1, slot=rank, board=board))
        self.client = Client(self.executor, session=rank + 1, base=BASE + rank * RANGE)
        self.client.attach()

    def create(self) -> int:
        sequence = self.client.op("communicator_create", 5, 2, self.rank, UNIQUE_ID)
        self.client.flush()
        return sequence

    def command(self, method: str, **fields: Any) -> dict[str, Any]:
        return self.executor.command(method, {"session": self.rank + 1, **fields})

    def recover(self, epoch: int) -> None:
        self.command("Fence", epoch=epoch)
        assert self.command("Rollback", epoch=epoch, boundary=0, timeout_ms=1000)["complete"]
        self.command("Resume", epoch=epoch, slots=[0, 1])

    def result(self, sequence: int) -> tuple[int, str]:
        self.client.wait(lambda: sequence in self.client.results)
        one = self.client.results[sequence]
        return one.status, one.payload.decode()


@pytest.fixture
def processes() -> Iterator[Any]:
    made: list[Process] = []

    def start(control: Service, count: int = 2) -> list[Process]:
        for rank in range(count):
            made.append(Process(control, rank, made[0].shared if made else None))
        return made

    yield start
    for one in made:
        one.executor.close()
        one.shared.close()


def test_a_join_that_a_recovery_takes_back(processes: Any, capfd: pytest.CaptureFixture[str]) -> None:
    """It waits for the fence, nobody is told anything, and the next attempt is of the new epoch."""
    control = Service(JoinSuperseded())
    first, second = processes(control)
    sequences = [first.create()]
    assert control.asked.wait(30)
    sequences.append(second.create())
    first.client.poll()
    assert sequences[0] not in first.client.results
    for one in (first, second):
        one.recover(epoch=1)
    assert [one.result(sequence) for one, sequence in zip((first, second), sequences, strict=True)] == [(0, "")] * 2
    assert control.epochs[0] == 0 and control.epochs.count(1) >= 2
    assert not control.faults
    assert "Traceback" not in capfd.readouterr().err


def test_why_a_join_is_refused_comes_to_the_program(processes: Any, capfd: pytest.CaptureFixture[str]) -> None:
    control = Service(JoinRefused(911, "rank 1 has ended"))
    (process,) = processes(control, 1)
    assert process.result(process.create()) == (911, "cannot join the communicator: rank 1 has ended")
    assert not control.faults
    assert "Traceback" not in capfd.readouterr().err


def test_a_refused_join_is_not_tried_again_in_a_replay(processes: Any) -> None:
    control = Service(JoinRefused(1, "this communicator has 3 ranks, not 2"))
    (process,) = processes(control, 1)
    process.result(process.create())
    process.client.op("allocate", process.client.base, 2 * MIB)
    process.client.drain()
    process.recover(epoch=1)
    process.client.drain()
    assert control.epochs == [0]


def test_a_join_that_fails_in_a_replay_says_why(processes: Any) -> None:
    """It is no other result: a rank may have ended since."""
    control = Service()
    both = processes(control)
    sequences = [one.create() for one in both]
    assert [one.result(sequence)[0] for one, sequence in zip(both, sequences, strict=True)] == [0, 0]
    control.answers.append(JoinRefused(911, "rank 1 has ended"))
    both[0].recover(epoch=1)
    wait_for(lambda: control.faults)
    [(_, sequence, _, cause, text)] = control.faults
    assert (sequence, cause) == (sequences[0], "replay-mismatch")
    assert text.endswith("fails in replay: cannot join the communicator: rank 1 has ended"), text


def test_an_unexpected_error_is_shown_and_told(processes: Any, capfd: pytest.CaptureFixture[str]) -> None:
    (process,) = processes(Service(KeyError("oops")), 1)
    status, text = process.result(process.create())
    assert status == 999 and "oops" in text
    assert "KeyError" in capfd.readouterr().err


def test_a_long_reason_is_cut(processes: Any) -> None:
    (process,) = processes(Service(JoinRefused(2, "x" * 9000)), 1)
    status, text = process.result(process.create())
    assert status == 2 and text.startswith("cannot join the communicator: xxx") and 4000 < len(text) < 4200
