"""Copy mode: back to a boundary and on again, in place and in another worker, as if nothing had happened."""

from __future__ import annotations

import os
import random
import struct

import pytest
from executor_rig import BASE, MIB, PROGRESS, RESTORED, RESULT, Client, Control, Shared, make_executor, stats, wait_for
from job_rig import BLOCK, BLOCKS, Job, digest, undisturbed

from jitc.proxy.common.executor import Executor

pytestmark = pytest.mark.usefixtures("device")
GONE = 77  # a stream


def start(executor: Executor, shared: Shared) -> Client:
    executor.open_session(shared.request())
    client = Client(executor)
    client.attach()
    Job(0).begin(client)
    return client


def minibatch(client: Client, job: Job) -> None:
    job.minibatch(client)
    client.flush()


def rebuild(shared: Shared, executors: list[Executor], client: Client, boundary: int, epoch: int = 1) -> Executor:
    """As the coordinator does after a worker's death."""
    executor = make_executor()
    executors.append(executor)
    executor.open_session(shared.request(rebuild=True, epoch=epoch))
    client.reconnect(executor)
    position = executor.command("Fence", {"session": 1, "epoch": epoch})
    assert position["prepared"] >= boundary
    reply = executor.command("Rollback", {"session": 1, "epoch": epoch, "boundary": boundary})
    assert reply["complete"], reply
    executor.command("Resume", {"session": 1, "epoch": epoch, "slots": [0]})
    return executor


@pytest.mark.parametrize("boundary", [0, 1])
def test_another_worker_takes_over(shared: Shared, executors: list[Executor], boundary: int) -> None:
    _, values = undisturbed(boundary + 2, seed=1)
    first = make_executor()
    client, job = start(first, shared), Job(1)
    for _ in range(boundary):
        minibatch(client, job)
    wait_for(lambda: stats(first)["boundary"] == boundary)
    minibatch_without_end(client, random.Random(7))
    client.flush()
    client.wait(lambda: client.acked == client.sequence)
    executed = client.sequence
    first.close()  # its memory is gone; the journal is not

    executor = rebuild(shared, executors, client, boundary)
    wait_for(lambda: stats(executor)["executed"] >= executed)
    # What was in the journal has run again; the program goes on.
    minibatch(client, job)
    minibatch(client, job)
    client.drain()
    assert values[:boundary] == job.values(client)[:boundary]
    assert stats(executor)["boundary"] == boundary + 2


def minibatch_without_end(client: Client, rng: random.Random) -> None:
    for _ in range(5):
        client.op("copy_h2d", BASE + rng.randrange(BLOCKS) * BLOCK, 512, payload=rng.randbytes(512))


@pytest.mark.parametrize("seed", range(6))
def test_bit_identical_after_losing_the_worker_at_any_op(shared: Shared, executors: list[Executor], seed: int) -> None:
    """Three minibatches, the worker is lost after some of the ops were sent; twice."""
    expected, values = undisturbed(4, seed)
    job = Job(seed)
    place = random.Random(seed + 100)
    executors.append(make_executor())
    client = start(executors[-1], shared)
    losses = {place.randrange(4), place.randrange(4)}
    for step in range(4):
        minibatch(client, job)
        if step in losses:
            executors.pop().close()
            boundary = prepared(shared, executors, client)
            assert boundary <= step + 1
    final = digest(client)
    assert final == expected
    assert job.values(client) == values


def prepared(shared: Shared, executors: list[Executor], client: Client) -> int:
    executor = make_executor()
    executors.append(executor)
    executor.open_session(shared.request(rebuild=True, epoch=1))
    position = executor.command("Fence", {"session": 1, "epoch": 1})
    boundary = int(position["prepared"])
    client.reconnect(executor)
    assert executor.command("Rollback", {"session": 1, "boundary": boundary})["complete"]
    executor.command("Resume", {"session": 1, "epoch": 1, "slots": [0]})
    return boundary


def test_roll_back_in_place(shared: Shared, executors: list[Executor]) -> None:
    expected, values = undisturbed(3, seed=5)
    executor = make_executor()
    executors.append(executor)
    client, job = start(executor, shared), Job(5)
    minibatch(client, job)
    minibatch(client, job)
    for epoch in (1, 2):
        position = executor.command("Fence", {"session": 1, "epoch": epoch})
        reply = executor.command("Rollback", {"session": 1, "boundary": position["prepared"]})
        assert reply["complete"]
        executor.command("Resume", {"session": 1, "epoch": epoch, "slots": [0]})
    minibatch(client, job)
    assert digest(client) == expected
    assert job.values(client) == values
    delivered = [one.sequence for one in client.seen if one.kind == RESULT]
    assert len(delivered) == len(set(delivered))


def test_memory_freed_and_allocated_again_comes_back(shared: Shared, executors: list[Executor]) -> None:
    executor = make_executor()
    executors.append(executor)
    client = start(executor, shared)
    other = BASE + 64 * MIB
    client.call("allocate", other, 2 * MIB)
    client.op("fill", other, 4096, 0x11, 1)
    client.step_begin()
    client.boundary([(other, 4096, 5)])
    client.op("free", other)
    client.call("allocate", other, 4 * MIB)
    client.op("fill", other, 4096, 0x22, 1)
    third = BASE + 128 * MIB
    client.call("allocate", third, 2 * MIB)
    executor.command("Fence", {"session": 1, "epoch": 1})
    assert executor.command("Rollback", {"session": 1, "boundary": 1})["complete"]
    assert stats(executor)["memory_used"] == 4 * MIB
    executor.command("Resume", {"session": 1, "epoch": 1, "slots": [0]})
    assert client.call("copy_d2h", other, 4096).payload == b"\x22" * 4096
    assert stats(executor)["memory_used"] == 8 * MIB


def test_an_allocation_that_failed_fails_again(shared: Shared, executors: list[Executor]) -> None:
    executor = make_executor(memory_limit=8 * MIB)
    executors.append(executor)
    client = start(executor, shared)
    failed = client.call("allocate", BASE + 64 * MIB, 8 * MIB)
    assert failed.status == 2
    client.op("free", BASE)
    client.drain()
    executor.command("Fence", {"session": 1, "epoch": 1})
    assert executor.command("Rollback", {"session": 1, "boundary": 0})["complete"]
    executor.command("Resume", {"session": 1, "epoch": 1, "slots": [0]})
    wait_for(lambda: stats(executor)["executed"] == client.sequence)
    assert stats(executor)["memory_used"] == 0 and stats(executor)["state"] == "running"


def test_a_result_that_differs_in_replay_is_a_fault(shared: Shared, executors: list[Executor]) -> None:
    """The live set leaves out memory that is read: with poison in it the replay cannot give the same."""
    control = Control()
    executor = make_executor(control)
    executors.append(executor)
    client = start(executor, shared)
    client.op("fill", BASE, 4096, 0x33, 1)
    client.step_begin()
    client.boundary([])
    read = client.call("copy_d2h", BASE, 64)
    executor.command("Fence", {"session": 1, "epoch": 1})
    executor.command("Rollback", {"session": 1, "boundary": 1})
    executor.command("Resume", {"session": 1, "epoch": 1, "slots": [0]})
    wait_for(lambda: control.faults)
    _, sequence, _, cause, message = control.faults[0]
    assert (sequence, cause) == (read.sequence, "replay-mismatch")
    assert "copy_d2h" in message and str(sequence) in message
    assert stats(executor)["state"] == "faulted"


def test_commands_in_the_wrong_state_are_refused(shared: Shared, executors: list[Executor]) -> None:
    executor = make_executor()
    executors.append(executor)
    client = start(executor, shared)
    for method in ("Rollback", "Resume", "FinishStep", "SkipStep", "Export", "Import"):
        with pytest.raises(Exception, match="needs a fenced session"):
            executor.command(method, {"session": 1, "boundary": 1, "path": "/x"})
    minibatch(client, Job(1))
    executor.command("Fence", {"session": 1, "epoch": 1})
    reply = executor.command("Rollback", {"session": 1, "boundary": 77})
    assert not reply["complete"] and "77" in reply["message"]


@pytest.mark.parametrize("attached", ["before", "after"])
def test_a_client_hears_that_streams_which_are_gone_have_done(
    shared: Shared, executors: list[Executor], attached: str
) -> None:
    """The state that is restored does not have them, and their progress may have been lost with the worker."""
    first = make_executor()
    client = start(first, shared)
    client.op("stream_create", GONE, 1, 0)
    last = client.op("fill", BASE, 64, 0, 1, stream=GONE)
    client.op("stream_destroy", GONE)
    minibatch(client, Job(1))
    client.drain()
    wait_for(lambda: stats(first)["boundary"] == 1)
    first.close()
    executor = make_executor()
    executors.append(executor)
    executor.open_session(shared.request(rebuild=True, epoch=1))
    if attached == "before":
        client.reconnect(executor)
    assert executor.command("Rollback", {"session": 1, "epoch": 1, "boundary": 1})["complete"]
    executor.command("Resume", {"session": 1, "epoch": 1, "slots": [0]})
    if attached == "after":
        client.reconnect(executor)
    reconnected = next(at for at, one in enumerate(client.seen) if one.kind == 0)

    def heard() -> list[tuple[int, int]]:
        return [(one.kind, one.sequence) for one in client.seen[reconnected:] if one.kind in (PROGRESS, RESTORED)]

    client.wait(lambda: any(kind == RESTORED for kind, _ in heard()))
    assert min(sequence for kind, sequence in heard() if kind == RESTORED) > last
    assert not any(one.kind == PROGRESS and one.stream == GONE for one in client.seen[reconnected:])


def test_a_rebuilt_session_does_not_run_before_it_is_restored(shared: Shared, executors: list[Executor]) -> None:
    first = make_executor()
    client = start(first, shared)
    minibatch(client, Job(1))
    client.drain()
    first.close()
    executor = make_executor()
    executors.append(executor)
    executor.open_session(shared.request(rebuild=True))
    with pytest.raises(Exception, match="needs Rollback"):
        executor.command("Resume", {"session": 1, "epoch": 1, "slots": [0]})
    assert stats(executor)["ops_executed"] == 0


def test_a_damaged_journal_is_noticed(shared: Shared, executors: list[Executor]) -> None:
    first = make_executor()
    client = start(first, shared)
    client.drain()
    first.close()
    data = os.pread(shared.fds["journal"], 1 << 20, 0)
    at = data.index(struct.pack("<IHHQQ", 40, 0x0201, 0, 0, 1))
    os.pwrite(shared.fds["journal"], b"\x55", at + 26)
    executor = make_executor()
    executors.append(executor)
    with pytest.raises(Exception, match="journal is damaged at position 0"):
        executor.open_session(shared.request(rebuild=True))
