"""Bad input at the service and at the op stream: a clear error where it belongs, nobody else disturbed."""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterator

import grpc
import pytest
from toolkit.client import (
    ACK,
    ALLOCATE,
    COPY_D2H,
    COPY_H2D,
    EVENT_RECORD,
    FAULT,
    RESULT,
    STREAM_SYNCHRONIZE,
    VERSION,
    WAIT,
    OpStream,
    attach,
    detach,
    op,
)
from toolkit.job import PRELOAD, run_command
from toolkit.service import Service
from toolkit.workplace import Workplace

from jitc.v1 import control_pb2

PAGE = 4096


@pytest.fixture(scope="module")
def service(shared_workplace: Workplace) -> Service:
    return shared_workplace.service(2)


@pytest.fixture
def session(service: Service) -> Iterator[control_pb2.AttachReply]:
    """A session, and beside it another one that must go on working."""
    mine, bystander = attach(service.socket, 0), attach(service.socket, 0)
    with OpStream(bystander) as other:
        other.receive(ACK)
        yield mine
        round_trip(other, bystander, 1)
    detach(service.socket, mine.token)
    detach(service.socket, bystander.token)
    assert all(not gpu["sessions"] for gpu in service.status()["gpus"])


def round_trip(stream: OpStream, session: control_pb2.AttachReply, first: int) -> None:
    """Allocates, writes, reads back: the session works."""
    address, data = session.address_base, b"abcdefgh"
    stream.send(
        op(ALLOCATE, first, struct.pack("<QQ", address, PAGE), WAIT)
        + op(COPY_H2D, first + 1, struct.pack("<QQ", address, len(data)) + data)
        + op(COPY_D2H, first + 2, struct.pack("<QQI", address, len(data), 0), WAIT)
    )
    result = stream.receive(RESULT, first + 2)
    assert (result.status, result.payload) == (0, data)


def refusal(call: object, *arguments: object) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as caught:
        call(*arguments)  # type: ignore[operator]
    return caught.value.code(), caught.value.details()


def test_a_session_works(service: Service, session: control_pb2.AttachReply) -> None:
    with OpStream(session) as stream:
        assert stream.receive(ACK).sequence == 0
        round_trip(stream, session, 1)


def test_other_protocol_version_at_attach(service: Service) -> None:
    code, text = refusal(lambda: attach(service.socket, 0, version=VERSION + 41))
    assert code is grpc.StatusCode.FAILED_PRECONDITION
    assert str(VERSION + 41) in text
    assert str(VERSION) in text


def test_other_protocol_version_at_the_stream(session: control_pb2.AttachReply) -> None:
    with OpStream(session, version=VERSION + 41) as stream:
        code, text = stream.error()
    assert code is grpc.StatusCode.FAILED_PRECONDITION
    assert "version" in text


def test_unknown_gpu(service: Service) -> None:
    code, text = refusal(lambda: attach(service.socket, 7))
    assert code is grpc.StatusCode.NOT_FOUND
    assert "GPU 7" in text


def test_unknown_session(service: Service) -> None:
    code, _ = refusal(lambda: attach(service.socket, 0, token="0" * 32))
    assert code is grpc.StatusCode.NOT_FOUND


def test_second_owner(session: control_pb2.AttachReply) -> None:
    with OpStream(session) as owner:
        owner.receive(ACK)
        with OpStream(session) as thief:
            code, text = thief.error()
        assert code is grpc.StatusCode.ALREADY_EXISTS
        assert "session" in text
        round_trip(owner, session, 1)


FRAMES = {
    "truncated header": b"\x08\0\0\0",
    "truncated record": op(COPY_H2D, 1, bytes(64))[:-16],
    "size beyond the batch": op(STREAM_SYNCHRONIZE, 1, flags=WAIT, size=4096),
    "size zero": op(STREAM_SYNCHRONIZE, 1, size=0),
    "size not aligned": op(STREAM_SYNCHRONIZE, 1, bytes(8), size=27),
    "record over the limit": op(STREAM_SYNCHRONIZE, 1, size=0xFFFFFFF8),
    "operands missing": op(ALLOCATE, 1, b"", WAIT),
    "unknown op": op(0x7F7F, 1),
    "unknown family": op(0x0001, 1),
    "sequence with a gap": op(STREAM_SYNCHRONIZE, 5, flags=WAIT),
    "sequence zero": op(STREAM_SYNCHRONIZE, 0, flags=WAIT),
    "payload shorter than said": op(COPY_H2D, 1, struct.pack("<QQ", 0x200000000000, 1 << 20) + bytes(8)),
    "boundary with too few rows": op(0x0102, 1, struct.pack("<QQ", 1, 1000)),
    "collective with too few rows": op(0x0504, 1, struct.pack("<Q", 1 << 60)),
}


@pytest.mark.parametrize("name", FRAMES)
def test_malformed_batch(name: str, session: control_pb2.AttachReply) -> None:
    """It ends the stream with a text; the session lives, and nothing of the batch was taken."""
    with OpStream(session) as stream:
        stream.receive(ACK)
        stream.send(FRAMES[name])
        code, text = stream.error()
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert text
    with OpStream(session) as stream:
        assert stream.receive(ACK).sequence == 0
        round_trip(stream, session, 1)


def test_message_that_is_no_batch(session: control_pb2.AttachReply) -> None:
    with OpStream(session) as stream:
        stream.receive(ACK)
        stream.send_raw(b"\xff" * 40)
        code, _ = stream.error()
    assert code is grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize(
    ("what", "record"),
    [
        ("address", op(COPY_D2H, 1, struct.pack("<QQI", 0x2000_0000_0000 + (1 << 37), 8, 0), WAIT)),
        ("foreign address", op(COPY_D2H, 1, struct.pack("<QQI", 0x7FFF_0000_0000, 8, 0), WAIT)),
        ("handle", op(EVENT_RECORD, 1, struct.pack("<Q", 987654321)) + op(STREAM_SYNCHRONIZE, 2, flags=WAIT)),
    ],
)
def test_what_does_not_exist(what: str, record: bytes, session: control_pb2.AttachReply) -> None:
    """A handle or address that does not exist: the CUDA error comes back, the worker lives."""
    with OpStream(session) as stream:
        stream.receive(ACK)
        stream.send(record)
        answer = stream.receive(FAULT if what == "handle" else RESULT)
    assert answer.status != 0


def test_service_that_is_not_running(shared_workplace: Workplace) -> None:
    """The message names the socket and the command that starts the service."""
    socket = str(shared_workplace.folder / "nobody.sock")
    env = {**shared_workplace.env, "JITC_SOCKET": socket, "LD_PRELOAD": str(PRELOAD)}
    code = "import torch; print(torch.cuda.is_available(), torch.cuda.device_count())"
    done = run_command([sys.executable, "-c", code], env=env, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["False", "0"]
    assert socket in done.stderr
    assert "jitc-proxyd" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_is_refused(service: Service) -> None:
    """The kernel refuses: the socket and its folder belong to the user of the service."""
    code = (
        "import os, socket, sys\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "s = socket.socket(socket.AF_UNIX)\n"
        "try:\n    s.connect(sys.argv[1])\n"
        "except PermissionError:\n    sys.exit(7)\n"
    )
    done = run_command([sys.executable, "-c", code, str(service.socket)], timeout=30)
    assert done.returncode == 7


def test_second_service_on_the_socket(service: Service) -> None:
    done = run_command(service.command, env=service.env, timeout=60)
    assert done.returncode != 0
    assert str(service.socket) in done.stderr
    service.status()


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (control_pb2.Fault(kind="set-on-fire"), "unknown fault"),
        (control_pb2.Fault(kind="kill-worker", phase="sideways"), "unknown phase"),
    ],
)
def test_unknown_fault(fault: control_pb2.Fault, expected: str, service: Service) -> None:
    code, text = refusal(lambda: service.inject(fault, 0))
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert expected in text
