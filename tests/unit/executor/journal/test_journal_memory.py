"""What the journal's memory holds: records with the checksums that docs/journal.md says, and no more than is needed."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

import pytest
from damage_rig import RECORD, Journal, crc32c
from executor_rig import BASE, MIB, Client, Shared, make_executor, stats

from jitc.proxy.common.executor import Executor

OP = 1
KIB = 1 << 10


@pytest.fixture
def shared() -> Iterator[Shared]:
    memory = Shared(journal=160 * MIB)
    yield memory
    memory.close()


@pytest.fixture
def client(executors: list[Executor], shared: Shared) -> Client:
    executors.append(make_executor())
    executors[0].open_session(shared.request())
    made = Client(executors[0])
    made.attach()
    made.call("allocate", BASE, 4 * MIB)
    return made


def test_records_of_all_sizes_have_the_checksum_of_the_format(client: Client, shared: Shared) -> None:
    """The instruction works on large ones in three strands of 16 KiB."""
    near = [-64, -8, 0, 5]
    sizes = [0, 1, 7, 8, 4095, *(16 * KIB * count + more for count in (1, 3, 4, 9) for more in near), MIB - 3, MIB]
    for size in sizes:
        client.op("copy_h2d", BASE, size, payload=os.urandom(size))
    client.drain()
    found = []
    for kind, memory, offset, size in Journal(shared).records():
        record = os.pread(shared.fds[memory], size, offset)
        assert struct.unpack_from("<I", record) == (crc32c(record[4:]),)
        found += [size] * (kind == OP)
    assert len(found) > len(sizes) and max(found) > MIB
    assert crc32c(b"123456789") == 0xE3069283 and RECORD.size == 32


def copies(client: Client, mib: int) -> None:
    for _ in range(mib):
        client.op("copy_h2d", BASE, MIB, payload=bytes(MIB))
        client.flush()
        client.poll()


def minibatch(client: Client, mib: int) -> None:
    copies(client, mib)
    client.step_begin()
    client.boundary([(BASE, 4 * MIB, 0)])
    client.drain()


def test_memory_is_kept_for_minibatches_as_large_as_the_last(client: Client, shared: Shared) -> None:
    """It is given back bit by bit when they are small."""
    sizes = []
    for _ in range(6):
        minibatch(client, 20)
        sizes.append(shared.used("journal") // MIB)
    assert sizes[1] >= 20 and max(sizes) <= 60, sizes
    assert sizes[2:] == [sizes[2]] * 4, sizes  # no chunk came or went
    for _ in range(80):
        minibatch(client, 1)
    assert shared.used("journal") <= 16 * MIB
    assert stats(client.executor)["journal_bytes"] < 10 * MIB


def test_a_rebuilt_worker_keeps_no_more_than_another(client: Client, shared: Shared, executors: list[Executor]) -> None:
    minibatch(client, 1)
    copies(client, 20)
    client.drain()
    executors.pop().close()
    executors.append(make_executor())
    executors[0].open_session(shared.request(rebuild=True, epoch=1))
    client.reconnect(executors[0])
    assert executors[0].command("Rollback", {"session": 1, "boundary": 1})["complete"]
    executors[0].command("Resume", {"session": 1, "epoch": 1, "slots": [0]})
    minibatch(client, 1)
    minibatch(client, 20)
    assert shared.used("journal") >= 20 * MIB
    for _ in range(80):
        minibatch(client, 1)
    assert shared.used("journal") <= 16 * MIB
