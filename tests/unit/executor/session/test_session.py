"""The client's side of a session: taken once, acknowledged, answered once, refused when malformed."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest
from executor_rig import ACK, BASE, MIB, PROGRESS, Client, Control, Shared, batch, make_executor, pack, stats, wait_for

from jitc.proxy.common.executor import Executor, ExecutorError


@pytest.fixture
def executor(shared: Shared) -> Iterator[Executor]:
    made = make_executor()
    made.open_session(shared.request())
    yield made
    made.close()


@pytest.fixture
def client(executor: Executor) -> Client:
    made = Client(executor)
    made.attach()
    return made


def test_memory_is_written_and_read(client: Client) -> None:
    assert client.call("allocate", BASE, 2 * MIB).status == 0
    client.op("copy_h2d", BASE + 5, 5, payload=b"hello")
    client.op("copy_d2d", BASE + MIB, BASE, 16)
    read = client.call("copy_d2h", BASE + MIB, 16)
    assert read.payload[5:10] == b"hello"


def test_everything_is_acknowledged_and_progress_is_told(client: Client) -> None:
    client.call("allocate", BASE, 2 * MIB)
    last = client.op("fill", BASE, 64, 7, 1)
    client.flush()
    client.wait(lambda: client.acked == last)
    client.wait(lambda: any(one.kind == PROGRESS and one.sequence >= last for one in client.seen))


def test_attach_tells_what_is_in_the_journal(client: Client, executor: Executor) -> None:
    client.drain()
    executor.detach(1)
    assert not client.poll() and not client.attached
    again = Client(executor)
    again.attach()
    again.wait(lambda: any(one.kind == ACK and one.sequence == 1 for one in again.seen))


def test_a_second_owner_is_refused(client: Client, executor: Executor) -> None:
    with pytest.raises(ExecutorError, match="another stream is attached"):
        executor.attach(1, 0)


def test_results_that_were_not_received_come_again_and_only_those(client: Client, executor: Executor) -> None:
    client.call("allocate", BASE, 2 * MIB)
    client.op("copy_h2d", BASE, 4, payload=b"abcd")
    sequence = client.op("copy_d2h", BASE, 4)
    client.flush()
    wait_for(lambda: stats(executor)["executed"] >= sequence)
    executor.detach(1)
    again = Client(executor, received=1)
    again.attach()
    again.wait(lambda: sequence in again.results)
    assert set(again.results) == {sequence} and again.results[sequence].payload == b"abcd"


def test_ops_sent_twice_are_taken_once(client: Client, executor: Executor) -> None:
    records = pack("allocate", 1, BASE, 2 * MIB) + pack("copy_h2d", 2, BASE, 1, payload=b"x")
    executor.submit(1, batch(records))
    executor.submit(1, batch(records + pack("copy_d2h", 3, BASE, 1)))
    client.wait(lambda: 3 in client.results)
    assert sorted(client.results) == [1, 3] and stats(executor)["ops_executed"] == 3


def test_the_phases_of_boundaries_are_summed_up(client: Client, executor: Executor) -> None:
    allocated = client.call("allocate", BASE, 8 * MIB).sequence
    for _ in range(3):
        client.step_begin()
        client.boundary([(BASE, 8 * MIB, allocated)])
    client.drain()
    found = stats(executor)["boundary_phases"]
    assert found["boundaries"] == 3
    assert set(found["seconds"]) == {"drain", "hash", "copy", "beside", "record", "gather"}
    assert found["seconds"]["copy"] > found["seconds"]["gather"] == 0


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (batch(pack("memory_info", 2)), "op 1 is missing"),
        (batch(pack("memory_info", 1) + pack("memory_info", 3)), "does not follow"),
        (batch(pack("memory_info", 0)), "sequence 0"),
        (batch(pack("memory_info", 1)[:-1]), "truncated"),
        (batch(pack("memory_info", 1))[:-1], "truncated"),
        (batch(struct.pack("<IHHQQ", 24, 0x7777, 0, 0, 1)), "op 0x7777 .* is not known"),
        (batch(struct.pack("<IHHQQ", 16, 0x0208, 0, 0, 1)), "wrong size"),
        (batch(struct.pack("<IHHQQ", 32, 0x0208, 0, 0, 1) + bytes(8)), "wrong size"),
        (batch(struct.pack("<IHHQQ", 24, 0x0208, 0x100, 0, 1)), "unknown flags"),
        (batch(struct.pack("<IHHQQ", 5 << 20, 0x0401, 0, 0, 1)), "larger than a record"),
        (batch(pack("boundary", 1, 1, 2, payload=bytes(24))), "live blocks"),
        (batch(pack("boundary", 1, 1, 1 << 61, payload=bytes(8 * 24))), "live blocks"),
        (batch(pack("collective", 1, 3, payload=bytes(64))), "items"),
        (batch(pack("copy_h2d", 1, BASE, 9, payload=bytes(8))), "as many bytes as it copies"),
        (batch(pack("copy_d2h", 1, BASE, 2 * MIB)), "more than 1 MiB"),
        (b"\x12\x00", "no OpBatch"),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "number that is too long"),
        (b"\x0a\x05abc", "truncated"),
    ],
)
def test_a_malformed_batch_takes_nothing(client: Client, executor: Executor, message: bytes, text: str) -> None:
    with pytest.raises(ExecutorError, match=text):
        executor.submit(1, message)
    assert stats(executor)["received"] == 0
    client.drain()  # the session is as it was


def test_bad_operands_of_one_session_do_not_disturb_another(shared: Shared) -> None:
    control = Control()
    executor, other = make_executor(control), Shared()
    try:
        executor.open_session(shared.request())
        executor.open_session(other.request(session=2, slot=1, board=shared))
        bad, good = Client(executor), Client(executor, session=2)
        bad.attach()
        good.attach()
        bad.op("fill", 12345, 64, 0, 1)
        bad.flush()
        wait_for(lambda: control.faults)
        session, sequence, status, _, message = control.faults[0]
        assert (session, sequence) == (1, 1) and status != 0 and "fill" in message
        assert stats(executor)["state"] == "faulted"
        good.drain()
    finally:
        executor.close()
        other.close()


def test_opening_twice_and_unknown_sessions_are_refused(executor: Executor, shared: Shared) -> None:
    with pytest.raises(ExecutorError, match="open already"):
        executor.open_session(shared.request())
    with pytest.raises(ExecutorError, match="no session 9"):
        executor.attach(9, 0)
    with pytest.raises(ExecutorError, match="cannot open"):
        executor.open_session(shared.request(session=3) | {"journal_path": "/nowhere"})


def test_abandon_hands_the_error_to_the_program(client: Client, executor: Executor) -> None:
    executor.command("Abandon", {"session": 1, "status": 700, "message": "it is over"})
    client.wait(lambda: any(one.kind == 4 for one in client.seen))
    fault = next(one for one in client.seen if one.kind == 4)
    assert fault.status == 700 and fault.payload == b"it is over"
    executor.detach(1)
    again = Client(executor)
    again.attach()
    again.wait(lambda: any(one.kind == 4 for one in again.seen))
