"""Pinned memory that a client shares with its worker: whose it is, how long, what a client cannot do to it."""

from __future__ import annotations

import argparse
import os
import stat
from pathlib import Path

import pytest
from standin_client import Client, config, wait_until
from toolkit.program import Program

from jitc.ops.options.table import BY_NAME, PINNED_MOST
from jitc.ops.options.values import Size
from jitc.proxy.commands.options import size as parser_of_sizes
from jitc.proxy.common.config import PINNED_BASE
from jitc.proxy.node.opening import Opening
from jitc.proxy.service import Service
from jitc.proxy.worker.kept_memory import KeptMemory
from jitc.v1 import worker_pb2


def test_client_and_worker_are_given_the_same_memory(service: Service) -> None:
    clients = [Client(service) for _ in range(2)]
    for slot, client in enumerate(clients):
        reply = client.reply
        assert (reply.pinned_base, reply.pinned_bytes) == (PINNED_BASE + slot * PINNED_MOST, 4 << 30)
        session = service.registry.by_token(reply.token)
        assert session is not None
        request = worker_pb2.OpenSessionRequest(session=session.number, rebuild=True)
        request = Opening(service.registry).filled_in(request)
        given = client.program.memory(reply.token)
        with KeptMemory(service.keeper.take).filled_in(request) as filled:  # type: ignore[arg-type]
            assert os.path.samestat(os.fstat(given), os.stat(filled.pinned_path))
        os.close(given)
        assert (request.pinned_base, request.pinned_bytes) == (reply.pinned_base, reply.pinned_bytes)
    for client in clients:
        client.close()


def test_it_says_whose_it_is_and_takes_no_memory_before_use(service: Service) -> None:
    client = Client(service)
    with open(client.program.memory(client.reply.token), "rb") as memory:
        assert memory.read(32) == client.reply.token.encode()
        status = os.fstat(memory.fileno())
    assert status.st_size == 4 << 30 and status.st_blocks * 512 == 4096
    assert stat.S_IMODE(status.st_mode) == 0o600
    client.close()


def test_nobody_can_take_its_pages_away(service: Service) -> None:
    client = Client(service)
    fd = client.program.memory(client.reply.token)
    for size in (0, 4096, (4 << 30) + 4096):
        with pytest.raises(PermissionError):
            os.ftruncate(fd, size)
    os.close(fd)
    client.close()


@pytest.mark.parametrize("end", ["close", "die"])
def test_it_goes_with_the_session(service: Service, end: str) -> None:
    """However that ends: nobody is given it any more, and no process of the node holds it."""
    client, other = Client(service), Program(service.config.socket)
    (session,) = service.registry.sessions.values()
    assert session.memory.pinned is not None
    path, before = session.memory.pinned.path, os.stat(session.memory.pinned.path).st_ino
    getattr(client, end)()
    wait_until(service, lambda: not service.registry.sessions)
    assert other.memory(client.reply.token) == -1
    assert not os.path.exists(path) or os.stat(path).st_ino != before
    other.close()


def test_it_can_be_turned_off(tmp_path: Path) -> None:
    one = Service(config(tmp_path, pinned_bytes=0))
    try:
        one.start()
        client = Client(one)
        assert not client.reply.pinned_bytes
        assert client.program.memory(client.reply.token) == -1  # and it is sent away, which ends its session
        wait_until(one, lambda: not one.registry.sessions)
        client.die()
        client = Client(one)
        client.send("add", value=2)
        assert client.call("get")["value"] == 2
        client.close()
    finally:
        one.stop()


def pinned_size(text: str) -> int:
    values = BY_NAME["pinned-limit"].values
    assert isinstance(values, Size)
    return parser_of_sizes(values)(text)


@pytest.mark.parametrize(("text", "size"), [("0", 0), ("1MiB", 1 << 20), ("64GiB", 1 << 36), ("1048577", 1 << 20)])
def test_its_size_is_in_pages(text: str, size: int) -> None:
    assert pinned_size(text) == size


@pytest.mark.parametrize("text", ["", "-1", "0.5", "4096", "65GiB", "much"])
def test_a_size_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        pinned_size(text)
