"""Pinned memory that a client shares with its worker: whose it is, how long, what a client cannot do to it."""

from __future__ import annotations

import argparse
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from standin_client import Client, config, wait_until

from jitc.proxy.commands.options import pinned_size
from jitc.proxy.common.config import PINNED_BASE, PINNED_MOST
from jitc.proxy.node.api.node import open_request
from jitc.proxy.service import Service


def test_client_and_worker_are_given_the_same_memory(service: Service) -> None:
    clients = [Client(service) for _ in range(2)]
    for slot, client in enumerate(clients):
        reply = client.reply
        assert (reply.pinned_base, reply.pinned_bytes) == (PINNED_BASE + slot * PINNED_MOST, 4 << 30)
        session = service.registry.by_token(reply.token)
        assert session is not None
        request = open_request(service.registry, session, rebuild=True)
        assert request.pinned_path == reply.pinned_path
        assert (request.pinned_base, request.pinned_bytes) == (reply.pinned_base, reply.pinned_bytes)
    assert clients[0].reply.pinned_path != clients[1].reply.pinned_path
    for client in clients:
        client.close()


def test_it_says_whose_it_is_and_takes_no_memory_before_use(service: Service) -> None:
    client = Client(service)
    with open(client.reply.pinned_path, "rb") as memory:
        assert memory.read(32) == client.reply.token.encode()
        status = os.fstat(memory.fileno())
    assert status.st_size == 4 << 30 and status.st_blocks * 512 == 4096
    assert stat.S_IMODE(status.st_mode) == 0o600
    client.close()


def test_nobody_can_take_its_pages_away(service: Service) -> None:
    client = Client(service)
    fd = os.open(client.reply.pinned_path, os.O_RDWR)
    for size in (0, 4096, (4 << 30) + 4096):
        with pytest.raises(PermissionError):
            os.ftruncate(fd, size)
    os.close(fd)
    client.close()


def test_it_goes_with_the_session(service: Service) -> None:
    client = Client(service)
    path = client.reply.pinned_path
    before = os.stat(path).st_ino
    client.close()
    wait_until(service, lambda: not service.registry.sessions)
    assert not os.path.exists(path) or os.stat(path).st_ino != before


def test_it_goes_with_a_killed_client(service: Service) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        client = Client(service, pid=process.pid)
        path = client.reply.pinned_path
        before = os.stat(path).st_ino
        process.kill()
    wait_until(service, lambda: not service.registry.sessions)
    assert not os.path.exists(path) or os.stat(path).st_ino != before
    client.close_stream()
    client.link.close()


def test_it_can_be_turned_off(tmp_path: Path) -> None:
    one = Service(config(tmp_path, pinned_bytes=0))
    try:
        one.start()
        client = Client(one)
        assert not client.reply.pinned_path and not client.reply.pinned_bytes
        client.send("add", value=2)
        assert client.call("get")["value"] == 2
        client.close()
    finally:
        one.stop()


@pytest.mark.parametrize(("text", "size"), [("0", 0), ("1MiB", 1 << 20), ("64GiB", 1 << 36), ("1048577", 1 << 20)])
def test_its_size_is_in_pages(text: str, size: int) -> None:
    assert pinned_size(text) == size


@pytest.mark.parametrize("text", ["", "-1", "0.5", "4096", "65GiB", "much"])
def test_a_size_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        pinned_size(text)
