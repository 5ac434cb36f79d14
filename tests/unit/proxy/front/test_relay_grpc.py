"""gRPC through the relay: large messages, many channels, and ends of either side."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from front_rig import Front, everything, threads
from toolkit.waiting import patient, until

from jitc.proxy.common import rpc
from jitc.proxy.front import relay as module

ECHO = grpc.method_handlers_generic_handler(
    "test.Echo", {"Echo": grpc.unary_unary_rpc_method_handler(lambda request, context: request, bytes, bytes)}
)


@pytest.fixture
def through(tmp_path: Path) -> Iterator[Front]:
    """A gRPC server behind the relay."""
    front = Front(tmp_path)
    os.unlink(front.private)
    server = rpc.serve(lambda server: None, front.private, [ECHO])
    front.start()
    yield front
    front.close()
    server.stop(0).wait(patient(20))
    assert not threads()


def echo(channel: grpc.Channel, data: bytes, wait: bool = False) -> bytes:
    answer: bytes = channel.unary_unary("/test.Echo/Echo")(data, timeout=patient(30), wait_for_ready=wait)
    return answer


def test_grpc_with_large_messages_both_ways(through: Front) -> None:
    with rpc.channel(through.public) as channel:
        assert echo(channel, b"small") == b"small"
        for size in (1, module.CHUNK, 5 << 20, 24 << 20):
            data = os.urandom(size)
            assert echo(channel, data) == data
    assert len(through.peers) == 1
    until(lambda: through.relay and not through.relay._connections, 20, "it has ended with its channel")


def test_grpc_with_many_calls_and_channels(through: Front) -> None:
    channels = [rpc.channel(through.public) for _ in range(40)]
    with ThreadPoolExecutor(40) as pool:
        sent = [os.urandom(100 + number * 1000) for number in range(40 * 5)]
        assert list(pool.map(echo, channels * 5, sent)) == sent
    for one in channels:
        one.close()
    assert len(through.peers) == 40
    until(lambda: through.relay and not through.relay._connections, 20, "they have ended with their channels")


def test_grpc_connects_again_after_it_was_sent_away(through: Front) -> None:
    through.route = lambda peer: None
    with rpc.channel(through.public) as channel:
        with pytest.raises(grpc.RpcError) as failed:
            echo(channel, b"x")
        assert rpc.status_of(failed.value)[0] == grpc.StatusCode.UNAVAILABLE
        through.route = lambda peer: through.private
        assert echo(channel, b"y", wait=True) == b"y"


def test_grpc_sends_away_who_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the relay's place is free then, though the program keeps its end open."""
    options = dict(rpc.SERVER_OPTIONS) | {"grpc.server_handshake_timeout_ms": 500}
    monkeypatch.setattr(rpc, "SERVER_OPTIONS", list(options.items()))
    front = Front(tmp_path)
    os.unlink(front.private)
    server = rpc.serve(lambda server: None, front.private, [ECHO])
    front.start()
    try:
        silent = front.connect()
        everything(silent)
        until(lambda: front.relay and not front.relay._connections, 20, "its place is free")
    finally:
        front.close()
        server.stop(0).wait(patient(20))


def test_a_server_that_stops_ends_its_connections(tmp_path: Path) -> None:
    front = Front(tmp_path)
    os.unlink(front.private)
    server = rpc.serve(lambda server: None, front.private, [ECHO])
    front.start()
    try:
        with rpc.channel(front.public) as channel:
            assert echo(channel, b"x") == b"x"
            server.stop(0).wait(patient(20))
            until(lambda: front.relay and not front.relay._connections, 20, "nothing is left of it")
            server = rpc.serve(lambda server: None, front.private, [ECHO])
            assert echo(channel, b"y", wait=True) == b"y"
    finally:
        front.close()
        server.stop(0).wait(patient(20))
