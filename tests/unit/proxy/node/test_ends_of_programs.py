"""A session ends with its program, however that ends, wherever it runs, and whatever the service is doing then."""

from __future__ import annotations

import os
import signal

import pytest
from standin_client import Client, session_of, wait_until
from toolkit.program import ProgramProcess
from toolkit.sandbox import pid_namespace
from toolkit.waiting import until

from jitc.proxy.service import Service


def sessions(service: Service) -> list[str]:
    return [one.label() for one in service.registry.sessions.values()]


@pytest.mark.parametrize("where", ["here", "in a PID namespace of its own"])
def test_process_that_is_killed(where: str, service: Service) -> None:
    before = () if where == "here" else pid_namespace()
    if where != "here" and not before:
        pytest.skip("no namespace of processes can be made here")
    process, bystander = ProgramProcess(service.config.socket, before), Client(service)
    client = Client(service, program=process.ticket, pid=1)
    session = session_of(service, client)
    assert session.pid > 1  # as it is seen from here
    client.send("add", value=2)
    os.kill(session.pid, signal.SIGSTOP)
    assert client.call("get")["value"] == 2
    os.kill(session.pid, signal.SIGKILL)
    wait_until(service, lambda: len(service.registry.sessions) == 1)
    process.kill()
    client.die()
    bystander.send("add", value=3)
    assert bystander.call("get")["value"] == 3
    bystander.close()


def test_all_sessions_of_one_program(service: Service) -> None:
    """A client that uses one connection for several sessions loses all of them with it."""
    first = Client(service)
    second = Client(service, 1, program=first.program.ticket)
    bystander = Client(service)
    first.program.close()
    wait_until(service, lambda: len(service.registry.sessions) == 1)
    for one in (first, second):
        one.die()
    bystander.close()


def test_one_that_ends_while_its_session_is_opened(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its worker is just being told of it; nothing is left of the session."""
    process = ProgramProcess(service.config.socket)
    add = service.registry.add

    def dies(*arguments: object) -> object:
        session = add(*arguments)
        process.kill()
        until(lambda: service.keeper.watch(process.ticket) is None or None, 20, "the keeper knows")
        return session

    monkeypatch.setattr(service.registry, "add", dies)
    with pytest.raises(Exception, match="the program has ended"):
        Client(service, program=process.ticket)
    assert sessions(service) == []
    monkeypatch.undo()
    again = Client(service)
    again.send("add", value=3)
    assert again.call("get")["value"] == 3
    again.close()
