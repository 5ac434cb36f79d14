"""The journal: whole after a kill at any instruction, flat over many boundaries, loud when it is full."""

from __future__ import annotations

import os
import random

import pytest
from executor_rig import BASE, MIB, NOTICE, Client, Shared, batch, make_executor, pack, stats, wait_for
from job_rig import Job, digest, live, run_and_kill, undisturbed

from jitc.proxy.common.executor import Executor

#: Of a boundary at most (limits.h), and that are asked for at once.
RESULTS, MANY = 4 << 20, 1 << 14


@pytest.mark.parametrize("seed", range(8))
def test_a_killed_worker_leaves_a_valid_journal(executors: list[Executor], seed: int) -> None:
    steps = 12
    final, values = undisturbed(steps, seed)
    shared = Shared()
    try:
        run_and_kill(shared, seed, steps, after=random.Random(seed).randrange(1, steps))
        executor = make_executor()
        executors.append(executor)
        executor.open_session(shared.request(rebuild=True, epoch=1))  # verifies every record
        client, job = Client(executor), Job(seed)
        job.begin(client)
        for _ in range(steps):
            job.minibatch(client)
        client.reconnect(executor)
        position = executor.command("Fence", {"session": 1, "epoch": 1})
        assert executor.command("Rollback", {"session": 1, "boundary": position["prepared"]})["complete"]
        executor.command("Resume", {"session": 1, "epoch": 1, "slots": [0]})
        assert digest(client) == final
        # Results of minibatches that the lost worker had truncated were received by the lost client.
        kept = [client.results[one].payload for one in job.reads if one in client.results]
        assert kept == values[len(values) - len(kept) :]
    finally:
        shared.close()


def test_memory_stays_flat_over_ten_thousand_boundaries(executors: list[Executor]) -> None:
    shared = Shared(journal=64 * MIB, snapshot=64 * MIB)
    try:
        executor = make_executor()
        executors.append(executor)
        executor.open_session(shared.request())
        client = Client(executor)
        client.attach()
        client.call("allocate", BASE, 2 * MIB)
        sizes = []
        for step in range(10_000):
            client.op("copy_h2d", BASE, 4096, payload=step.to_bytes(4, "little") * 1024)
            client.step_begin()
            client.boundary([(BASE, 16384, 0)])
            if step % 100 == 99:
                assert client.call("copy_d2h", BASE, 4).payload == step.to_bytes(4, "little")
                client.op("device_synchronize")
                sizes.append(shared.used("journal") + shared.used("snapshot"))
        assert stats(executor)["boundary"] == 10_000
        assert max(sizes) <= 24 * MIB, f"{max(sizes) / MIB} MiB"
        assert stats(executor)["journal_bytes"] < 4 * MIB
    finally:
        shared.close()


def fill(client: Client, mib: int) -> None:
    for step in range(mib):
        client.op("copy_h2d", BASE, MIB, payload=bytes([step % 256]) * MIB)
        client.flush()
        client.poll()


def answer_many(client: Client) -> None:
    """Waits that the program makes at once; what came is not kept, but for notices."""
    first, last = client.sequence + 1, client.sequence + MANY
    records = b"".join(pack("stream_synchronize", sequence) for sequence in range(first, last + 1))
    client.sequence = last
    client.executor.submit(client.session, batch(records, client.received))
    client.wait(lambda: last in client.results)
    client.results.clear()
    client.seen = [one for one in client.seen if one.kind == NOTICE]


def open_client(executors: list[Executor], shared: Shared) -> Client:
    executor = make_executor()
    executors.append(executor)
    executor.open_session(shared.request())
    client = Client(executor)
    client.attach()
    client.call("allocate", BASE, 2 * MIB)
    return client


def test_a_long_minibatch_spills_and_is_replayed_from_there(executors: list[Executor]) -> None:
    shared = Shared(journal=16 * MIB, spill=128 * MIB)
    try:
        client = open_client(executors, shared)
        fill(client, 60)
        client.drain()
        assert shared.used("journal") <= 17 * MIB and shared.used("spill") >= 40 * MIB
        before = client.call("copy_d2h", BASE, 4096).payload
        executor = executors[-1]
        executor.command("Fence", {"session": 1, "epoch": 1})
        assert executor.command("Rollback", {"session": 1, "boundary": 0})["complete"]
        executor.command("Resume", {"session": 1, "epoch": 1, "slots": [0]})
        client.drain()
        assert client.call("copy_d2h", BASE, 4096).payload == before
        client.step_begin()
        client.boundary([(BASE, MIB, 0)])
        client.drain()
        client.step_begin()
        client.boundary([(BASE, MIB, 0)])
        client.drain()
        assert shared.used("spill") <= 12 * MIB  # given back
    finally:
        shared.close()


def test_a_full_journal_is_loud_and_the_job_goes_on(executors: list[Executor]) -> None:
    shared = Shared(journal=16 * MIB)
    try:
        client = open_client(executors, shared)
        client.step_begin()
        client.boundary(live(1))
        fill(client, 40)
        client.drain()
        notices = [one.payload.decode() for one in client.seen if one.kind == NOTICE]
        assert len(notices) == 1 and "full" in notices[0] and "--journal-limit" in notices[0]
        executor = executors[-1]
        assert not stats(executor)["protected"]
        assert client.call("copy_d2h", BASE, 4).payload == bytes([39]) * 4
        # Going back is refused, in words.
        executor.command("Fence", {"session": 1, "epoch": 1})
        reply = executor.command("Rollback", {"session": 1, "boundary": 1})
        assert not reply["complete"] and "boundary 1 is not kept" in reply["message"]
    finally:
        shared.close()


@pytest.mark.slow
def test_results_without_end_are_loud_and_the_job_goes_on(executors: list[Executor]) -> None:
    """Four million waits without a boundary between."""
    shared = Shared(journal=1024 * MIB)
    try:
        client = open_client(executors, shared)
        client.step_begin()
        client.boundary(live(1))
        client.drain()
        for _ in range(RESULTS // MANY + 1):
            answer_many(client)
        client.drain()
        notices = [one.payload.decode() for one in client.seen if one.kind == NOTICE]
        assert len(notices) == 1 and notices[0].startswith(f"more than {RESULTS} results since the last boundary")
        assert not stats(executors[-1])["protected"]
        client.step_begin()
        client.boundary(live(1))
        client.drain()
        assert stats(executors[-1])["protected"]
    finally:
        shared.close()


def test_protection_comes_back_with_the_next_boundary(executors: list[Executor]) -> None:
    shared = Shared(journal=16 * MIB)
    try:
        client = open_client(executors, shared)
        fill(client, 40)
        client.step_begin()
        client.boundary([(BASE, MIB, 0)])
        client.drain()
        executor = executors[-1]
        assert stats(executor)["protected"]
        client.op("fill", BASE, MIB, 1, 1)
        client.drain()
        executor.command("Fence", {"session": 1, "epoch": 1})
        assert executor.command("Rollback", {"session": 1, "boundary": 1})["complete"]
        executor.command("Resume", {"session": 1, "epoch": 1, "slots": [0]})
        wait_for(lambda: stats(executor)["executed"] == client.sequence)
        assert client.call("copy_d2h", BASE, 4).payload == bytes([1]) * 4
    finally:
        shared.close()


def test_a_journal_of_another_format_is_refused(executors: list[Executor]) -> None:
    shared = Shared()
    try:
        executor = make_executor()
        executors.append(executor)
        with pytest.raises(Exception, match="this is no journal"):
            executor.open_session(shared.request(rebuild=True))
        executor.open_session(shared.request())
        executor.close_session(1)
        os.pwrite(shared.fds["journal"], (99).to_bytes(4, "little"), 8)
        with pytest.raises(Exception, match=r"format 99\.1"):
            executor.open_session(shared.request(rebuild=True))
    finally:
        shared.close()


def notices(client: Client) -> list[str]:
    return [one.payload.decode() for one in client.seen if one.kind == NOTICE]


def test_copies_that_fit_alone_replace_the_older_ones(executors: list[Executor]) -> None:
    shared = Shared(snapshot=3 * MIB)
    try:
        client = open_client(executors, shared)
        for _ in range(2):
            client.step_begin()
            client.boundary([(BASE, 2 * MIB, 0)])
        client.drain()
        (notice,) = [one for one in notices(client) if "cannot be recovered" in one]
        assert "copies" in notice and "--copies-limit" in notice
        executor = executors[-1]
        assert stats(executor)["protected"]
        executor.command("Fence", {"session": 1, "epoch": 1})
        assert executor.command("Rollback", {"session": 1, "boundary": 2})["complete"]
    finally:
        shared.close()


def test_copies_that_do_not_fit_are_loud_and_the_job_goes_on(executors: list[Executor]) -> None:
    shared = Shared(snapshot=MIB)
    try:
        client = open_client(executors, shared)
        client.op("fill", BASE, 2 * MIB, 7, 1)
        client.step_begin()
        client.boundary([(BASE, 2 * MIB, 0)])
        client.drain()
        executor = executors[-1]
        assert executor.command("Stats", {})["sessions"][0]["boundary"] == 1
        assert not stats(executor)["protected"]
        assert [one for one in notices(client) if "--copies-limit" in one]
        assert client.call("copy_d2h", BASE, 4).payload == bytes([7]) * 4
        client.step_begin()
        client.boundary([(BASE, MIB, 0)])  # fits
        client.drain()
        assert stats(executor)["protected"]
        client.op("fill", BASE, MIB, 9, 1)
        client.drain()
        executor.command("Fence", {"session": 1, "epoch": 1})
        assert not executor.command("Rollback", {"session": 1, "boundary": 1})["complete"]
        assert executor.command("Rollback", {"session": 1, "boundary": 2})["complete"]
        executor.command("Resume", {"session": 1, "epoch": 1, "slots": [0]})
        wait_for(lambda: stats(executor)["executed"] == client.sequence)
        assert client.call("copy_d2h", BASE, 4).payload == bytes([9]) * 4  # replayed
    finally:
        shared.close()
