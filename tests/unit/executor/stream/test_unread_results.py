"""Results that the client does not read: it is given no more to read, costs no memory, and goes on when it reads."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from executor_rig import BASE, FAULT, MIB, NOTICE, Client, Shared, make_executor, stats, wait_for

from jitc.proxy.common.executor import Executor

pytestmark = pytest.mark.usefixtures("device")
READS = 200
#: What may be on the way, of one MiB each: jitc/limits.h, and what the device was given before it was too much.
MOST = 128 + 32


@pytest.fixture
def shared() -> Iterator[Shared]:
    memory = Shared(journal=400 * MIB)
    yield memory
    memory.close()


def start(executor: Executor, shared: Shared) -> Client:
    executor.open_session(shared.request())
    client = Client(executor)
    client.attach()
    client.call("allocate", BASE, 2 * MIB)
    return client


def read_much(client: Client, count: int = READS) -> list[int]:
    """Copies to the host, each of other content; nobody polls."""
    reads = []
    for number in range(count):
        client.op("fill", BASE, 16, number, 4)
        reads.append(client.op("copy_d2h", BASE, MIB))
    client.flush()
    return reads


def number_of(client: Client, read: int) -> int:
    payload = client.results.pop(read).payload
    assert len(payload) == MIB
    return int.from_bytes(payload[:4], "little")


def resident() -> int:
    with open("/proc/self/statm") as statm:
        pages, shared = map(int, statm.read().split()[1:3])
    return (pages - shared) * os.sysconf("SC_PAGE_SIZE")


def take(client: Client, reads: list[int], first: int = 0) -> None:
    """Reads them one after the other: each is what it was when it was made, and none is kept."""
    for number, read in enumerate(reads[first:], first):
        client.wait(lambda read=read: read in client.results)
        assert number_of(client, read) == number
        client.seen.clear()


def test_a_client_that_does_not_read_is_held_back(shared: Shared, executors: list[Executor]) -> None:
    executors.append(make_executor())
    client = start(executors[0], shared)
    before = resident()
    reads = read_much(client)
    wait_for(lambda: stats(executors[0])["held_back"])
    wait_for(lambda: stats(executors[0])["unread_bytes"] >= 32 * MIB)
    assert stats(executors[0])["ops_executed"] < 2 * MOST
    assert shared.used("journal") < (MOST + 16) * MIB
    assert resident() - before < MOST * MIB  # they lie in the journal; on a GPU, what comes next in staging memory
    take(client, reads)
    client.drain()
    assert not stats(executors[0])["held_back"] and stats(executors[0])["unread_bytes"] == 0


@pytest.mark.sampled
@pytest.mark.parametrize("how", ["fence before much has come", "fence", "detach", "close"])
def test_a_client_that_never_reads_is_let_go_at_once(shared: Shared, executors: list[Executor], how: str) -> None:
    executors.append(make_executor())
    client = start(executors[0], shared)
    # What was on its way to a client that is gone does not count: as much comes again for the next one.
    reads = read_much(client, 2 * MOST + 20 if how == "detach" else READS)
    wait_for(lambda: stats(executors[0])["held_back"])
    if "before" not in how:
        wait_for(lambda: stats(executors[0])["unread_bytes"] > 32 * MIB)
    if how == "close":
        executors[0].close_session(1)
        return
    if how.startswith("fence"):
        session = {"session": 1, "epoch": 1}
        executors[0].command("Fence", session)
        assert executors[0].command("Rollback", session | {"boundary": 0})["complete"]
        executors[0].command("Resume", session | {"slots": [0]})
    else:
        executors[0].detach(1)
        wait_for(lambda: stats(executors[0])["held_back"] and stats(executors[0])["unread_bytes"] > 32 * MIB)
        client.attach()
    take(client, reads)


def test_another_worker_delivers_what_was_not_read(shared: Shared, executors: list[Executor]) -> None:
    first = make_executor()
    client = start(first, shared)
    reads = read_much(client)
    wait_for(lambda: stats(first)["held_back"])
    client.received = reads[9]  # of the first ten; they are not read here
    first.close()
    executors.append(make_executor())
    executors[0].open_session(shared.request(rebuild=True, epoch=1))
    before = resident()
    client.kept = {sequence: record for sequence, record in client.kept.items() if sequence > reads[-1]}
    client.executor = executors[0]
    client.attach()
    session = {"session": 1, "epoch": 1}
    executors[0].command("Fence", session)
    assert executors[0].command("Rollback", session | {"boundary": 0})["complete"]
    executors[0].command("Resume", session | {"slots": [0]})
    wait_for(lambda: stats(executors[0])["held_back"])
    assert resident() - before < MOST * MIB
    take(client, reads, first=10)


def test_a_full_journal_loses_no_result(executors: list[Executor]) -> None:
    memory = Shared(journal=40 * MIB)
    try:
        executors.append(make_executor())
        client = start(executors[0], memory)
        reads = read_much(client)
        take(client, reads[:80])
        wait_for(lambda: not stats(executors[0])["protected"])
        executors[0].detach(1)
        client.received = reads[79]
        while client.poll() or client.attached:
            pass
        client.results.clear()
        client.attach()
        take(client, reads, first=80)
    finally:
        memory.close()


def test_a_client_that_never_says_what_it_has_ends_alone(executors: list[Executor]) -> None:
    """The journal cannot keep everything for it: when it comes back and wants all of it, its session is over."""
    memory = Shared(journal=40 * MIB)
    try:
        executors.append(make_executor())
        client = start(executors[0], memory)
        take(client, read_much(client, 2 * READS))
        executors[0].detach(1)
        again = Client(executors[0])
        again.attach()
        again.wait(lambda: any(one.kind == FAULT for one in again.seen))
        fault = next(one for one in again.seen if one.kind == FAULT)
        assert fault.status == 999 and b"full journal" in fault.payload
        assert not any(one.kind == NOTICE for one in again.seen)
    finally:
        memory.close()
