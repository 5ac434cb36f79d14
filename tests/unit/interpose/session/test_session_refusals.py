"""What waiting cannot change: no service, another version, refusals, the end of a session."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from session_binding import LIBRARIES, TRANSPORT
from standin_node import Node, Record, completion

Start = Callable[..., Any]
OPEN = """
try: Session()
except NoSession as none: told(none.args[0])
try: Session()
except NoSession as none: told(none.args[0])
"""


def test_service_that_is_not_running(folder: Path, client: Start) -> None:
    out, err = client("told(gpus()); told(gpus())" + OPEN).finish()
    assert out.splitlines() == ["[]", "[]", "100", "100"]
    (line,) = err.splitlines()
    socket = str(folder / "proxyd.sock")
    assert line.startswith("jitc: ") and f"jitc-proxyd --device software --gpus N --socket {socket}" in line


def test_default_socket(folder: Path, client: Start) -> None:
    _, err = client("gpus()", JITC_SOCKET="", XDG_RUNTIME_DIR=str(folder)).finish()
    assert f"{folder}/jitc/proxyd.sock" in err
    _, err = client("gpus()", JITC_SOCKET="", XDG_RUNTIME_DIR="").finish()
    assert "/run/jitc/proxyd.sock" in err


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user to be")
def test_socket_of_another_user(node: Node, client: Start) -> None:
    os.chmod(node.folder, 0o711)
    os.chmod(node.socket, 0o700)
    public = node.folder / "libraries"  # the checkout may be where no other user can read
    public.mkdir()
    for library in (*TRANSPORT.glob("libjitc_transport.so"), *LIBRARIES.glob("*.so")):
        shutil.copy(library, public)
    program = "library(); os.setuid(65534); assert gpus() == []"
    _, err = client(program, JITC_TEST_LIBRARIES=str(public)).finish()
    assert err.startswith(f"jitc: the socket {node.socket} belongs to another user") and len(err.splitlines()) == 1


def test_other_version(node: Node, client: Start) -> None:
    def refuse(request: Any, context: Any) -> None:
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, "protocol version 2 does not match 3 of this service")

    node.script.describe = refuse
    out, err = client("told(gpus())" + OPEN).finish()
    assert out.splitlines() == ["[]", "100", "100"]
    assert "protocol version 2 does not match 3" in err and len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (grpc.StatusCode.INVALID_ARGUMENT, 999),
        (grpc.StatusCode.FAILED_PRECONDITION, 3),
        (grpc.StatusCode.PERMISSION_DENIED, 999),
        (grpc.StatusCode.ALREADY_EXISTS, 999),
        (grpc.StatusCode.NOT_FOUND, 101),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, 2),
        (grpc.StatusCode.INTERNAL, 999),
    ],
)
def test_refused_attach(node: Node, client: Start, code: grpc.StatusCode, error: int) -> None:
    node.script.attach = lambda request, context: context.abort(code, "the reason why")
    out, err = client(OPEN).finish()
    assert out.splitlines() == [str(error)] * 2
    assert err.count("the reason why") == 1 and len(node.attached) == 1


@pytest.mark.parametrize(
    "code", [grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.ALREADY_EXISTS]
)
def test_refused_stream(node: Node, client: Start, code: grpc.StatusCode) -> None:
    node.script.on_open = lambda context: context.abort(code, "the reason why")
    out, err = client("""
try: s = Session()
except NoSession: told("none")
else: told(s.call(b"x")[0]); told(s.status); told(s.submit(b"x"))
""").finish()
    assert out.splitlines() in (["none"], ["999", "999", "0"])
    assert err.count("the reason why") == 1


def test_fault_ends_the_session_for_everybody(node: Node, client: Start) -> None:
    def fault(batch: list[Record]) -> bytes:
        die = any(record.payload.startswith(b"die") for record in batch)
        return completion(4, status=700, payload=b"an illegal address, twice at op 3") if die else b""

    node.script.extra = fault
    _, err = client("""
s = Session()
assert s.call(b"fine____")[0] == 0
s.submit(b"die")
until(lambda: s.status != 0, 20, "the fault")
heard = []
got = (s.status, s.submit(b"x"), s.call(b"x"))
assert got == (700, 0, (700, b"")), got
assert s.receive(1, lambda *all: heard.append(all)) == 0 and not heard
assert "illegal address" in last_message()
s.poll()
""").finish()
    assert err == "jitc: GPU 0: an illegal address, twice at op 3\n"


def test_fault_reaches_those_who_wait(node: Node, client: Start) -> None:
    """Three threads wait for results that never come; then the session is over."""

    def end(batch: list[Record]) -> bytes:
        return completion(4, status=719, payload=b"over") if len(node.journal) >= 3 else b""

    node.script.withhold_results = True
    node.script.extra = end
    client("""
s = Session()
got = []
threads = [threading.Thread(target=lambda: got.append(s.call(b"x" * 8)[0])) for _ in range(3)]
[t.start() for t in threads]; [t.join(20) for t in threads]
assert got == [719] * 3 and s.status == 719, got
""").finish()


def test_service_gone_for_good(node: Node, client: Start) -> None:
    running = client(
        """
s = Session()
s.call(b"x"); told("ready"); go()
told(s.call(b"x")); told(s.status); told(last_message())
""",
        JITC_SERVICE_TIMEOUT="1",
    )
    assert running.hear() == "ready"
    node.stop()
    running.go()
    out, err = running.finish()
    assert out.splitlines()[:2] == ["(999, b'')", "999"]
    assert node.socket in err and "JITC_SERVICE_TIMEOUT" in err and len(err.splitlines()) == 1


@pytest.mark.parametrize(
    "broken",
    [completion(1, sequence=1)[:-8], b"\x20\0\0\0", completion(1, sequence=1)[:4] + bytes([1, 0, 9, 0]) + bytes(24)],
)
def test_damaged_completions_end_the_session(node: Node, client: Start, broken: bytes) -> None:
    node.script.extra = lambda batch: broken
    _, err = client('s = Session(); s.submit(b"x"); until(lambda: s.status == 999, 20, "the end")').finish()
    assert "completion" in err


def test_acknowledgement_of_what_was_never_sent(node: Node, client: Start) -> None:
    node.script.extra = lambda batch: completion(2, sequence=99)
    _, err = client('s = Session(); s.submit(b"x"); until(lambda: s.status == 999, 20, "the end")').finish()
    assert "never sent" in err


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (grpc.StatusCode.FAILED_PRECONDITION, 46),  # its job was given up
        (grpc.StatusCode.NOT_FOUND, 46),  # another service
        (grpc.StatusCode.INVALID_ARGUMENT, 999),
        (grpc.StatusCode.PERMISSION_DENIED, 999),
    ],
)
def test_session_that_the_service_has_ended(node: Node, client: Start, code: grpc.StatusCode, error: int) -> None:
    running = client("""
s = Session()
s.call(b"x"); told("ready"); go()
told(s.call(b"x")[0]); told(s.status)
""")
    assert running.hear() == "ready"
    node.script.attach = lambda request, context: context.abort(code, "jitc could not recover this job")
    node.stop_worker()
    running.go()
    out, err = running.finish()
    assert out.splitlines() == [str(error)] * 2
    assert err.count("jitc could not recover this job") == 1


def test_worker_that_lost_acknowledged_ops(node: Node, client: Start) -> None:
    running = client("""
s = Session()
s.call(b"x"); told("ready"); go()
assert s.call(b"x")[0] == 999 and s.status == 999
""")
    assert running.hear() == "ready"
    node.stop_worker()
    node.only.journal.clear()
    node.only.owed.clear()
    node.start_worker()
    running.go()
    _, err = running.finish()
    assert "lost ops" in err
