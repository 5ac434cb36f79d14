"""The gRPC sockets of service and workers under whatever comes: a connection or a call ends, and nothing else."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from standin_client import Client, config, session_of, started

from jitc.proxy.common import rpc
from jitc.proxy.common.paths import PROTOCOL_VERSION
from jitc.proxy.node.registry import Registry
from jitc.proxy.service import Service
from jitc.v1 import control_pb2, control_pb2_grpc

CROWD, PACKETS = 300, 200
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#: An empty frame of settings, and heads of frames that say that more comes than does.
FRAMES = [b"\0\0\0\4\0\0\0\0\0", b"\xff\xff\xff\0\0\0\0\0\1", b"\0\x40\0\1\4\0\0\0\1", b"\0\0\4\x08\0\0\0\0\0\0\0\0\0"]


def connected(path: str) -> socket.socket:
    one = socket.socket(socket.AF_UNIX)
    one.connect(path)
    one.setblocking(False)
    return one


def serves(service: Service) -> None:
    with rpc.channel(service.config.socket) as link:
        request = control_pb2.DescribeRequest(protocol_version=PROTOCOL_VERSION)
        assert rpc.node(link).Describe(request, timeout=20, wait_for_ready=True).gpus


@pytest.mark.parametrize("whose", ["the service's", "a worker's"])
def test_fuzz(whose: str, service: Service) -> None:
    """Bytes at random, the same each time, with a good beginning or none, on many connections, half of which stay."""
    client = Client(service)
    session = session_of(service, client)
    assert session.worker is not None
    path, chance, staying = service.config.socket, random.Random(27), list[socket.socket]()
    if whose != "the service's":
        path = session.worker.socket
    for turn in range(PACKETS):
        one = connected(path)
        said = [PREFACE] * chance.choice((0, 1, 1, 1)) + [chance.choice(FRAMES) for _ in range(chance.randrange(5))]
        said.append(chance.randbytes(chance.choice((0, 5, 5000, 200_000))))
        with contextlib.suppress(OSError):
            one.send(b"".join(said))
        if turn % 2:
            one.close()
        else:
            staying.append(one)
    serves(service)
    client.send("add", value=1)
    assert client.call("get")["value"] == 1
    assert session.worker.alive()
    for one in staying:
        one.close()
    client.close()


def test_a_request_that_does_not_parse(service: Service, capfd: pytest.CaptureFixture[str]) -> None:
    """It is refused, and the log has nothing of it."""
    with rpc.channel(service.config.socket) as link:
        for name in ("Node/Describe", "Admin/Inject"):
            call = link.unary_unary(f"/jitc.v1.{name}")  # what it is given goes as it is
            with pytest.raises(grpc.RpcError) as told:
                call(b"\xff" * 100, timeout=20)
            assert told.value.code() is grpc.StatusCode.INVALID_ARGUMENT
            assert "the request cannot be read" in told.value.details()
    serves(service)
    assert "Traceback" not in capfd.readouterr().err


def test_a_call_that_is_too_large(service: Service) -> None:
    """It is refused unread."""
    unlimited = [("grpc.max_send_message_length", -1)]
    with grpc.insecure_channel(f"unix:{service.config.socket}", options=unlimited) as link:
        inject = control_pb2_grpc.AdminStub(link).Inject
        with pytest.raises(grpc.RpcError) as told:
            inject(control_pb2.InjectRequest(fault=control_pb2.Fault(kind="x" * rpc.REQUEST_LIMIT)), timeout=20)
    assert told.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert f"vs. {rpc.REQUEST_LIMIT}" in told.value.details()
    serves(service)


def test_a_crowd_takes_no_more_than_a_share_of_the_descriptors(service: Service) -> None:
    before = len(os.listdir("/proc/self/fd"))
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = min(rpc.CONNECTIONS, soft // rpc.SHARE)
    crowd = [connected(service.config.socket) for _ in range(CROWD)]
    assert len(os.listdir("/proc/self/fd")) - before - CROWD <= most + 20
    for one in crowd:
        one.close()
    serves(service)


@pytest.fixture
def hasty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """A service with eight places, which lets go of connections after a second."""
    limits = [("grpc.server_handshake_timeout_ms", 1000), ("grpc.max_connection_idle_ms", 1000)]
    monkeypatch.setattr(rpc, "CONNECTIONS", 8)
    monkeypatch.setattr(rpc, "SERVER_OPTIONS", [*limits, *rpc.SERVER_OPTIONS])  # the first of a name counts
    with started(Service(config(tmp_path))) as one:
        yield one


@pytest.mark.parametrize("said", [b"", PREFACE + FRAMES[0]], ids=["silent", "speaking"])
def test_a_crowd_that_calls_nothing_goes(said: bytes, hasty: Service) -> None:
    """Though it took all places and stays as long as it can; who has come when none was free is served then."""
    with contextlib.ExitStack() as ends:
        for _ in range(64):
            one = ends.enter_context(connected(hasty.config.socket))
            with contextlib.suppress(OSError):
                one.send(said)
        serves(hasty)


def go_idle(service: Service) -> None:
    """A channel that calls nothing loses its connection; the next call makes another, and need not wait for that."""
    request, ended = control_pb2.DescribeRequest(protocol_version=PROTOCOL_VERSION), threading.Event()
    with rpc.channel(service.config.socket) as link:
        assert rpc.node(link).Describe(request, timeout=20).gpus
        link.subscribe(lambda state: ended.set() if state is grpc.ChannelConnectivity.IDLE else None)
        ended.clear()
        assert ended.wait(20)
        assert rpc.node(link).Describe(request, timeout=20).gpus


def test_a_channel_that_called_nothing_for_long_goes_on(hasty: Service) -> None:
    go_idle(hasty)


def test_our_channels_let_go_first(
    service: Service, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Of a server that lets go gRPC tells on standard error, which workers share with the service's output."""
    assert dict(rpc.OPTIONS)["grpc.client_idle_timeout_ms"] < dict(rpc.SERVER_OPTIONS)["grpc.max_connection_idle_ms"]
    monkeypatch.setattr(rpc, "OPTIONS", [("grpc.client_idle_timeout_ms", 1000), *rpc.OPTIONS])
    go_idle(service)
    assert "goaway" not in capfd.readouterr().err.lower()


def test_an_exception_is_the_end_of_its_call(
    service: Service, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its caller is told, and the log, in a line; the service goes on."""

    def broken(self: Any, token: str) -> None:
        raise ValueError(f"a defect\nwith {token}")

    with monkeypatch.context() as during, rpc.channel(service.config.socket) as link:
        during.setattr(Registry, "by_token", broken)
        with pytest.raises(grpc.RpcError) as caught:
            rpc.node(link).Detach(control_pb2.DetachRequest(token="\x1b[31m" + "x" * 5000), timeout=20)
    code, text = rpc.status_of(caught.value)
    assert code is grpc.StatusCode.INTERNAL
    assert text.startswith("Detach: ValueError") and text.isprintable() and len(text) < 400
    assert [one for one in capfd.readouterr().err.splitlines() if "Detach" in one] == [
        f"jitc: a call has failed: {text}"
    ]
    serves(service)
