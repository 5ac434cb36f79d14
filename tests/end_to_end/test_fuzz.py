"""The op stream takes whatever bytes come: a fixed set of mutated and random batches, one after another.

The executor's own decoder is fuzzed in its unit tests; here the whole way is: gRPC, Python, executor, back end.
"""

from __future__ import annotations

import struct

import grpc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toolkit.client import (
    ACK,
    ALLOCATE,
    COPY_D2H,
    COPY_H2D,
    MEMORY_HOLD,
    MEMORY_MAP,
    RESULT,
    WAIT,
    OpStream,
    attach,
    detach,
    op,
)
from toolkit.service import Service
from toolkit.workplace import Workplace

#: Each has a worker process of its own.
EXAMPLES = 80


@pytest.fixture(scope="module")
def service(shared_workplace: Workplace) -> Service:
    return shared_workplace.service(1)


def plausible(base: int) -> bytearray:
    """A good batch, to be spoiled."""
    return bytearray(
        op(ALLOCATE, 1, struct.pack("<QQ", base, 4096), WAIT)
        + op(COPY_H2D, 2, struct.pack("<QQ", base, 8) + b"abcdefgh")
        + op(0x0207, 3, struct.pack("<QQII", base, 64, 1, 4))
        + op(0x0504, 4, struct.pack("<Q", 1) + bytes(64))
        + op(0x0601, 5, bytes(232))
        + op(MEMORY_HOLD, 6, struct.pack("<QQ", 7, 4 << 20), WAIT)
        + op(MEMORY_MAP, 7, struct.pack("<QQ", 7, base + (4 << 20)))
        + op(COPY_D2H, 8, struct.pack("<QQI", base, 8, 0), WAIT)
    )


spoiling = st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), min_size=1, max_size=6)


@settings(
    max_examples=EXAMPLES, derandomize=True, deadline=None, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(changes=spoiling, cut=st.integers(0, 600))
def test_spoiled_batches_never_kill_the_worker(changes: list[tuple[int, int]], cut: int, service: Service) -> None:
    session = attach(service.socket, 0)
    worker = service.worker_pid(0)  # the session's own: it ends with it
    batch = plausible(session.address_base)
    for place, value in changes:
        batch[place % len(batch)] = value
    with OpStream(session) as stream:
        stream.receive(ACK)
        stream.send(bytes(batch[: len(batch) - cut]))
        stream.finish()
        code, _ = stream.error()
        assert code in (grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT)
    assert service.worker_pid(0) == worker
    detach(service.socket, session.token)


def test_the_service_works_after_them(service: Service) -> None:
    session = attach(service.socket, 0)
    with OpStream(session) as stream:
        stream.receive(ACK)
        stream.send(op(ALLOCATE, 1, struct.pack("<QQ", session.address_base, 4096), WAIT))
        assert stream.receive(RESULT, 1).status == 0
    detach(service.socket, session.token)
