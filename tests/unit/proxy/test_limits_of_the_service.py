"""Tables of the service and the keeper that can be full: what comes then, and that others find their place.

Each is filled by made-up calls. docs/limits.md has all of them, with the tests of the others.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from types import SimpleNamespace
from typing import Any, cast

import grpc
import pytest
from standin_client import Client, letting_go, structures
from toolkit.program import Program
from toolkit.waiting import until

from jitc.proxy.common import rpc
from jitc.proxy.common.config import SLOTS
from jitc.proxy.common.paths import PROTOCOL_VERSION
from jitc.proxy.keeper import protocol
from jitc.proxy.keeper.log import Log
from jitc.proxy.keeper.process import server, shelf
from jitc.proxy.keeper.process.shelf import Shelf
from jitc.proxy.node import descriptors, fault_injector
from jitc.proxy.node.addresses import nth
from jitc.proxy.node.fault_injector import FaultInjector
from jitc.proxy.node.joins.communicators import OUT_OF_MEMORY, Communicators, Refusal
from jitc.proxy.node.registry import Registry
from jitc.proxy.node.session import Session
from jitc.proxy.protection.determinism import validation
from jitc.proxy.protection.peer_mode import divergence
from jitc.proxy.recovery import report
from jitc.proxy.service import Service
from jitc.proxy.tenants.tenant import ATTACHES
from jitc.v1 import control_pb2


class Process:
    """A session, as far as joins look at it."""

    def __init__(self, number: int) -> None:
        self.number, self.pid = number, 1000 + number


def test_a_node_full_of_sessions(service: Service) -> None:
    """The next one is refused with the number, and those that are there go on."""
    client = Client(service)
    registry, others = service.registry, {slot: nth(slot) for slot in range(SLOTS)}
    with registry.changed:
        mine, registry._slots = registry._slots, others
    with contextlib.closing(Program(service.config.socket)) as program, rpc.channel(service.config.socket) as link:
        request = control_pb2.AttachRequest(
            protocol_version=PROTOCOL_VERSION, gpu=1, pid=os.getpid(), wait_ms=5000, program=program.ticket
        )
        with pytest.raises(grpc.RpcError) as refused:
            rpc.node(link).Attach(request, timeout=20)
    code, text = rpc.status_of(refused.value)
    assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert text == f"this node has {SLOTS} sessions already; end some first"
    with registry.changed:
        registry._slots = mine
    client.send("add", value=2)
    assert client.call("get")["value"] == 2
    client.close()


def test_programs_that_wait_for_a_worker(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those beyond the limit are asked to try again; the others are answered when there is one."""
    client = Client(service)
    registry, beyond = service.registry, 3
    [session] = registry.sessions.values()
    there = threading.Event()
    monkeypatch.setattr(Session, "reachable", lambda _: there.is_set())
    request = control_pb2.AttachRequest(protocol_version=PROTOCOL_VERSION, token=client.reply.token, wait_ms=60_000)
    calls = [client.node.Attach.future(request, timeout=60) for _ in range(ATTACHES + beyond)]
    until(lambda: sum(call.done() for call in calls) == beyond, 50, "those beyond the limit are refused")
    refused = [call for call in calls if call.done()]
    for call in refused:
        assert rpc.status_of(cast("grpc.RpcError", call.exception())) == (
            grpc.StatusCode.UNAVAILABLE, f"{ATTACHES} calls wait already; ask again",
        )  # fmt: skip
    there.set()
    with registry.changed:
        registry.changed.notify_all()
    assert {call.result(30).session for call in calls if call not in refused} == {session.number}
    Client(service, gpu=1).close()
    client.close()


def shelf_with(kept: dict[str, int]) -> Shelf:
    one = Shelf()
    one._kept, one._tokens = dict(kept), {name: "" for name in kept}
    return one


def test_a_keeper_that_is_full() -> None:
    """It says so; what it holds can still be replaced, and given back."""
    full = shelf_with({f"communicator/{number}": -1 for number in range(shelf.KEPT)})
    answer = full.keep("5/journal", os.memfd_create("test"), "")
    assert answer == {"error": f"jitc-keeper holds {shelf.KEPT} pieces of memory already; end some programs first"}
    mine = os.memfd_create("test")
    assert full.keep("communicator/7", mine, "") == {"descriptor": mine}
    full.drop(["communicator/7"])
    again = os.memfd_create("test")
    assert full.keep("5/journal", again, "") == {"descriptor": again}
    full.drop(["5/journal"])


def test_a_service_that_asks_and_does_not_read() -> None:
    """What is raised ends its connection."""
    one, (ours, theirs) = object.__new__(server.Keeper), socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    one._service, one._unread = ours, []
    one._programs = cast("Any", SimpleNamespace(ended=lambda: []))
    with ours, theirs, pytest.raises(protocol.Malformed, match="does not read the answers"):
        ours.setblocking(False)
        for _ in range(100_000):
            one._reply(lambda: ({"answer": "x" * 1000}, []), {"do": "watch", "number": 1})
    assert len(one._unread) == server.ANSWERS + 1


def test_the_next_service_can_be_told_of_all_that_a_keeper_holds() -> None:
    """In one packet: names as long as they can be, processes with as many digits."""
    kept = [f"u{(1 << 32) - 2}/communicator/{(1 << 63) - number}" for number in range(shelf.KEPT)]
    children = {str((1 << 22) + number): f"u{(1 << 32) - 2}/" for number in range(4 * SLOTS)}
    welcome = {"kept": kept, "children": children, "pid": 1 << 22, "namespace": 1 << 32}
    assert len(json.dumps(welcome)) + protocol.OVERHEAD < protocol.LIMIT


def test_communicators_leave_the_keeper_room_for_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where there are more descriptors than the keeper has places."""
    monkeypatch.setattr(descriptors, "limit", lambda: 1 << 20)
    pieces = len(("journal", "snapshot", "spill", "pinned"))
    assert descriptors.for_communicators() + SLOTS * pieces + len(("board", "log")) <= shelf.KEPT
    monkeypatch.setattr(shelf, "KEPT", 0)
    monkeypatch.setattr(descriptors, "KEPT", 12 + SLOTS * descriptors.PIECES)
    table, greedy, other = Communicators(structures()), Process(1), Process(2)
    for number in range(6):
        table.join(greedy, bytes([number]) * 128, 2, 0)
    with pytest.raises(
        Refusal, match=r"process 1001 has 6 communicators.* more of all programs \(jitc-keeper has"
    ) as why:
        table.join(greedy, b"x" * 128, 2, 0)
    assert why.value.status == OUT_OF_MEMORY
    table.join(other, b"y" * 128, 2, 0)
    table.close()


def test_a_rank_that_has_let_go_very_often() -> None:
    """It counts in 16 bits: where they begin anew the segment is kept, rather than taken from somebody."""
    letting_go.clear()
    table, mine, theirs = Communicators(structures()), Process(1), Process(2)
    for rank, one in enumerate((mine, theirs)):
        made = table.join(one, b"x" * 128, 2, rank)
    for given, left, gone in ((65535, 65535, True), (65536, 0, False), (65537, 1, True), (65537, 0, False)):
        made.given = dict.fromkeys((0, 1), given)
        assert made.let_go([left, left]) is gone, given
    table.close()


def test_the_newest_recoveries_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "describe", lambda recovery, proof: {"number": recovery, "ranks": []})
    monkeypatch.setattr(report, "line", str)
    log = Log.make()
    reports = report.Reports(log)
    for number in range(report.KEPT + 5):
        reports.add(cast("Any", number), {})
    assert [one["number"] for one in reports.documents()] == list(range(5, report.KEPT + 5))
    left = [one["number"] for one in report.Reports(log).documents()]
    assert left == list(range(report.KEPT + 5 - report.LOGGED, report.KEPT + 5)), "what the next service knows"


def test_the_newest_divergences_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    found = divergence.Divergences()
    monkeypatch.setattr(found, "say", lambda *_: None)
    for number in range(divergence.KEPT + 5):
        found.add(cast("Any", SimpleNamespace(text=lambda: "", document=lambda number=number: number)))
    assert found.documents() == list(range(5, divergence.KEPT + 5))


def test_the_newest_validations_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "_describe", lambda run, interrupted: {"number": run.number})
    monkeypatch.setattr(validation, "line", str)
    registry = cast("Registry", SimpleNamespace(config=SimpleNamespace(validate_every=0, validate_share=0.0)))
    found = validation.Validations(registry, cast("Any", SimpleNamespace(learn=lambda *_: None)))
    for number in range(validation.KEPT + 5):
        run = SimpleNamespace(number=number, members=[], pending=[], since=lambda: 0.0)
        found._runs.append(cast("Any", run))
        found._end(cast("Any", run), "")
    assert [one["number"] for one in found.documents()] == list(range(5, validation.KEPT + 5))


def test_the_newest_injected_faults_are_told() -> None:
    injector = FaultInjector(cast("Registry", SimpleNamespace(changed=threading.Condition())))
    for number in range(fault_injector.TOLD + 5):
        armed = SimpleNamespace(gpu=0, fault=SimpleNamespace(kind=str(number)), finish=lambda detail: None)
        injector._finish(cast("Any", armed), "it fired")
    told = [one["kind"] for one in injector.documents()]
    assert told == [str(number) for number in range(5, fault_injector.TOLD + 5)]
