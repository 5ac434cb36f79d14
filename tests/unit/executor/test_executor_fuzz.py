"""Whatever a client sends: refused in words, or executed; never a crash, never half a batch.

A fixed number of generated inputs; the failing one is printed by hypothesis.
"""

from __future__ import annotations

import os
import random
import struct
from collections.abc import Iterator
from typing import Any

import pytest
from executor_rig import (
    BASE,
    MIB,
    PINNED,
    RANGE,
    Client,
    Control,
    Shared,
    batch,
    make_executor,
    pack,
    stats,
    wait_for,
)  # fmt: skip
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jitc.ops import generated_names as ops
from jitc.proxy.common.executor import Executor, ExecutorError

pytestmark = pytest.mark.usefixtures("device")

FIXED = settings(
    max_examples=400, derandomize=True, deadline=None, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip


class Target:
    """An executor with one session; a session that has faulted is replaced."""

    def __init__(self) -> None:
        self.control = Control()
        self.executor: Executor = make_executor(self.control)
        self.shared = Shared(journal=16 * MIB, snapshot=64 * MIB, pinned=4 * MIB)
        self.session = 0
        self.renew()

    def renew(self) -> None:
        if self.session:
            self.executor.close_session(self.session)
        self.session += 1
        self.executor.open_session(self.shared.request(session=self.session))
        self.client = Client(self.executor, session=self.session)
        self.client.attach()

    def stats(self) -> dict[str, Any]:
        return stats(self.executor, self.session)

    def close(self) -> None:
        self.executor.close()
        self.shared.close()


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    made = Target()
    yield made
    made.close()


def submit(target: Target, message: bytes) -> bool:
    """True when it was taken."""
    try:
        target.executor.submit(target.session, message)
    except ExecutorError as error:
        assert str(error)
        return False
    return True


@FIXED
@given(st.binary(max_size=300))
def test_any_bytes(target: Target, message: bytes) -> None:
    before = target.stats()["received"]
    if not submit(target, message):
        assert target.stats()["received"] == before
    if target.stats()["received"] != before:
        target.renew()


NUMBERS = st.one_of(
    st.integers(0, 16), st.integers(BASE - 64, BASE + 4 * MIB), st.sampled_from([BASE + RANGE, 1 << 63, (1 << 64) - 1]),
    st.integers(PINNED - 64, PINNED + 4 * MIB + 64), st.integers(0, 1024).map(lambda page: PINNED + page * 4096),
    st.integers(0, (1 << 64) - 1),
)  # fmt: skip


@st.composite
def records(draw: Any) -> bytes:
    """One to six ops with plausible headers and arbitrary operands, then perhaps a changed byte."""
    out = b""
    for sequence in range(1, draw(st.integers(1, 6)) + 1):
        name = draw(st.sampled_from(sorted(set(ops.IDS) - {"operator_call", "operator_query", "matmul"})))
        layout = ops.FORMATS[name]
        size = struct.calcsize(layout)
        operands = b"".join(struct.pack("<Q", draw(NUMBERS)) for _ in range((size + 7) // 8))[:size]
        payload = draw(st.sampled_from([b"", bytes(24), bytes(64), bytes(128)]))
        body = operands + payload
        body += bytes(-len(body) % 8)
        flags = draw(st.sampled_from([0, 1, 2, 4]))
        out += struct.pack("<IHHQQ", 24 + len(body), ops.IDS[name], flags, draw(st.integers(0, 3)), sequence) + body
    if draw(st.booleans()):
        at = draw(st.integers(0, len(out) - 1))
        out = out[:at] + bytes([draw(st.integers(0, 255))]) + out[at + 1 :]
    return out


@FIXED
@given(records())
def test_any_ops(target: Target, stream: bytes) -> None:
    """Bad operands end in a result or a fault of this session; the process and the journal live."""
    if not submit(target, batch(stream)):
        assert target.stats()["received"] == 0
        return
    received = target.stats()["received"]
    if received == 0:
        return

    def settled() -> bool:
        now = target.stats()
        return now["state"] == "faulted" or now["executed"] >= received or blocked(stream)

    wait_for(settled, seconds=20)
    target.renew()


def blocked(stream: bytes) -> bool:
    """A communicator of several ranks waits for the others, and so does what uses it."""
    at = 0
    while at < len(stream):
        size, number = struct.unpack_from("<IH", stream, at)
        if ops.NAMES[number].startswith("communicator_") or ops.NAMES[number] == "collective":
            return True
        at += size
    return False


@FIXED
@given(st.text(max_size=60), st.sampled_from(["Fence", "Rollback", "Export", "SetPolicy", "Arm", "BoundaryTable", "x"]))
def test_any_command(target: Target, document: str, method: str) -> None:
    with pytest.raises(ExecutorError):
        target.executor.command(method, {"session": document})


def test_a_journal_of_random_bytes_is_refused() -> None:
    """The worker that takes over believes nothing that its checksum does not confirm."""
    shared, executor, rng = Shared(journal=16 * MIB, snapshot=16 * MIB), make_executor(), random.Random(3)
    try:
        base = BASE + RANGE  # the other tests of this module have the first range
        executor.open_session(shared.request(slot=1))
        client = Client(executor)
        client.attach()
        client.op("allocate", base, 2 * MIB)
        for _ in range(40):
            client.op("copy_h2d", base, 64, payload=rng.randbytes(64))
        client.drain()
        executor.close_session(1)
        used = os.pread(shared.fds["journal"], 16 << 10, 0)
        end = used.rindex(pack("device_synchronize", 42))
        refused = 0
        for _ in range(100):
            at = rng.randrange(0, end)
            os.pwrite(shared.fds["journal"], bytes([used[at] ^ (1 << rng.randrange(8))]), at)
            try:
                executor.open_session(shared.request(slot=1, rebuild=True))
                executor.close_session(1)
            except ExecutorError:
                refused += 1
            os.pwrite(shared.fds["journal"], used, 0)
        assert refused > 50  # the rest hit parts of the header that carry nothing
    finally:
        executor.close()
        shared.close()
