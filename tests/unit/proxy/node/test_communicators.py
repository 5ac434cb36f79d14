"""Who may join a communicator, and what those who wait for others are told."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from standin_client import Client, absences, config, structures, wait_until
from toolkit.program import ProgramProcess

from jitc.proxy.commands.questions import text as cli_text
from jitc.proxy.common import rpc
from jitc.proxy.common.config import SLOTS
from jitc.proxy.common.shared_memory import NoSpace
from jitc.proxy.node.joins import communicators
from jitc.proxy.node.joins.communicators import EXTERNAL_DEVICE, INVALID_VALUE, OUT_OF_MEMORY, Communicators, Refusal
from jitc.proxy.node.joins.join_watch import JoinWatch
from jitc.proxy.ranks.states import SessionEvent
from jitc.proxy.service import Service
from jitc.v1 import control_pb2

ID, OTHER = b"i" * 128, b"o" * 128


class Process:
    """A session, as far as it matters here."""

    def __init__(self, number: int) -> None:
        self.number, self.pid = number, 1000 + number


@pytest.fixture(autouse=True)
def _no_absences(monkeypatch: pytest.MonkeyPatch) -> None:
    """And no time in which a launcher could end ranks."""
    absences.clear()
    monkeypatch.setattr(communicators, "PATIENCE", 0.0)


@pytest.fixture
def table() -> Iterator[Communicators]:
    one = Communicators(structures())
    yield one
    one.close()


def refusal(table: Communicators, process: Process, rank: int, ranks: int = 2, unique_id: bytes = ID) -> Refusal:
    with pytest.raises(Refusal) as caught:
        table.join(process, unique_id, ranks, rank)
    return caught.value


def end(table: Communicators, process: Process) -> None:
    table.leave(process)
    table.left(process)


def told() -> list[tuple[int, str]]:
    return [(rank, why) for _, rank, why in absences]


def test_ranks_share_a_segment_until_a_recovery(table: Communicators) -> None:
    first, second = Process(1), Process(2)
    one = table.join(first, ID, 2, 0)
    segment, identity = one.segment, one.identity
    assert table.join(second, ID, 2, 1).segment is segment and identity
    table.renew({7})
    assert table.join(first, ID, 2, 0).segment is segment
    table.renew({2})
    assert one.segment is None
    again = table.join(first, ID, 2, 0)
    assert again is one and again.segment is not segment and again.identity not in (0, identity)
    assert one.members == {1: 0, 2: 1}


@pytest.mark.parametrize(("ranks", "rank"), [(0, 0), (2, 2), (SLOTS + 1, 0)])
def test_ranks_that_cannot_be(table: Communicators, ranks: int, rank: int) -> None:
    why = refusal(table, Process(1), rank, ranks)
    assert why.status == INVALID_VALUE
    assert f"a communicator has 1 to {SLOTS} ranks on this node" in str(why)


def test_ranks_that_do_not_fit_each_other(table: Communicators) -> None:
    table.join(Process(1), ID, 3, 0)
    assert str(refusal(table, Process(2), 1, 2)) == "this communicator has 3 ranks, not 2"
    assert str(refusal(table, Process(2), 0, 3)) == "rank 0 of this communicator is another process already"


def test_without_room_for_a_segment(table: Communicators, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(name: str, size: int) -> None:
        raise NoSpace(f"no room for {name}")

    monkeypatch.setattr(communicators, "shared", no_room)
    why = refusal(table, Process(1), 0)
    assert (why.status, str(why)) == (OUT_OF_MEMORY, "no room for communicator")


def test_an_id_with_a_rank_that_has_ended_admits_nobody(table: Communicators) -> None:
    first, second = Process(1), Process(2)
    table.join(first, ID, 2, 0)
    table.join(second, ID, 2, 1)
    table.leave(second)
    for process, rank in ((Process(3), 1), (Process(4), 0)):
        why = refusal(table, process, rank)
        assert why.status == EXTERNAL_DEVICE
        pattern = r"this communicator has ended: its rank 1 of 2, process 1002, ended at \d\d:\d\d:\d\d"
        assert re.fullmatch(pattern, str(why))
    table.join(Process(3), OTHER, 2, 0)  # another id is another matter
    # The one that is left may come again in a recovery, and finds out there.
    table.renew({1})
    table.join(first, ID, 2, 0)
    assert not absences
    table.left(second)
    table.renew({1})
    table.join(first, ID, 2, 0)
    assert [rank for rank, _ in told()] == [1, 1]
    end(table, first)
    assert len(list(table)) == 1
    assert "rank 1 of 2, process 1002" in str(refusal(table, Process(5), 0))


def test_those_who_wait_are_told_when_a_rank_ends(table: Communicators) -> None:
    first, second = Process(1), Process(2)
    table.join(first, ID, 3, 0)
    one = table.join(second, ID, 3, 1)
    table.leave(second)
    assert not absences  # its worker may still be at it
    table.left(second)
    ((rank, why),) = told()
    assert rank == 1 and "process 1002" in why
    assert not one.members, "they are no job that would have to recover together"
    assert refusal(table, first, 0, 3).status == EXTERNAL_DEVICE  # nor is it waited for in a replay
    end(table, first)
    assert not list(table)


def test_launchers_have_their_time_before_others_are_told(
    table: Communicators, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(communicators, "PATIENCE", 1000.0)
    ranks = [Process(number) for number in range(3)]
    for rank, process in enumerate(ranks):
        one = table.join(process, ID, 3, rank)
    end(table, ranks[2])
    table.tell()
    assert told() == []
    assert "rank 2 of 3" in str(refusal(table, Process(7), 2, 3)), "who comes anew learns it at once"
    one.parting[2] = 0.0  # the time is over
    table.tell()
    assert [rank for rank, _ in told()] == [2]
    for process in ranks[:2]:  # the launcher has ended them too: nobody is left to be told
        end(table, process)
    assert not list(table) and len(told()) == 1


def test_ended_ids_are_forgotten_in_time(table: Communicators, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(communicators, "REMEMBERED", 3)
    for number in range(5):
        process = Process(number)
        table.join(process, bytes([number]) * 128, 2, 0)
        end(table, process)
    for number in range(2, 5):
        assert refusal(table, Process(9), 1, unique_id=bytes([number]) * 128).status == EXTERNAL_DEVICE
    for number in range(2):
        table.join(Process(9), bytes([number]) * 128, 2, 1)


def test_whom_a_session_waits_for(table: Communicators) -> None:
    first, second = Process(1), Process(2)
    assert table.waiting_for(first) == ""
    table.join(first, ID, 4, 0)
    table.join(second, ID, 4, 1)
    table.join(first, OTHER, 20, 19)
    assert table.waiting_for(second) == "communicator of 4 ranks: rank 2, 3 missing"
    assert table.waiting_for(first) == (
        "communicator of 4 ranks: rank 2, 3 missing; communicator of 20 ranks: rank 0, 1, 2, 3, 4, 5, 6, 7, ... missing"
    )
    for number in (3, 4):
        table.join(Process(number), ID, 4, number - 1)
    assert table.waiting_for(second) == ""


# -- with a service -----------------------------------------------------------------------------------


def join(service: Service, session: int, epoch: int = 0, rank: int = 0) -> Any:
    request = control_pb2.JoinRequest(session=session, unique_id=ID, ranks=2, rank=rank, epoch=epoch)
    with rpc.channel(service.config.socket) as link:
        return rpc.coordinator(link).JoinCommunicator(request, timeout=20)


def status(client: Client) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(client.admin.Status(control_pb2.StatusRequest(), timeout=20).json)
    return document


def test_a_join_of_another_epoch_is_superseded(service: Service, capfd: pytest.CaptureFixture[str]) -> None:
    client = Client(service)
    session = client.reply.session
    assert not join(service, session).superseded
    with service.registry.changed:
        service.registry.sessions[session].epoch = 3
    assert join(service, session).superseded
    assert not join(service, session, epoch=3).superseded
    assert join(service, 99).superseded  # closed since
    client.close()
    assert "Traceback" not in capfd.readouterr().err


def test_status_says_whom_a_session_waits_for(service: Service) -> None:
    client, other = Client(service), Client(service, 1)
    client.call("join", rank=0, ranks=3)
    document = status(client)
    waits = "communicator of 3 ranks: rank 1, 2 missing"
    assert [gpu["sessions"][0]["waiting_for"] for gpu in document["gpus"]] == [waits, ""]
    assert f"waits for a {waits}" in cli_text.status(document)
    client.close()
    other.close()


def test_the_id_of_a_process_that_has_ended(service: Service) -> None:
    """Nobody detaches for a process that is killed."""
    client = Client(service)
    process = ProgramProcess(service.config.socket)
    ended = Client(service, 1, program=process.ticket)
    ended.call("join", rank=0)
    client.call("join", rank=1)
    process.kill()
    wait_until(service, lambda: ended.reply.session not in service.registry.sessions)
    answer = Client(service).call("join", rank=0)
    assert answer["status"] == EXTERNAL_DEVICE
    assert f"rank 0 of 2, process {process.process.pid}, ended at" in answer["refusal"]


def test_joins_have_a_limit(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    service = Service(config(tmp_path))
    service.own.joins = JoinWatch(service.registry, 0.2)  # workers that are slow to answer are not the matter here
    service.start()
    try:
        client = Client(service)
        client.call("join", rank=1, ranks=3)
        with service.registry.changed:
            assert service.registry.changed.wait_for(lambda: absences, 20)
        why = "rank 0, 2 of this communicator of 3 did not join within 0.2 s (--hang-seconds)"
        assert told() == [(0, why), (2, why)]
        assert Client(service, 1).call("join", rank=0, ranks=3)["refusal"] == why
        assert not service.registry.group([service.registry.sessions[client.reply.session]])[1:]
    finally:
        service.stop()
    assert f"jitc-proxyd: {why}" in capfd.readouterr().err


def test_time_of_a_recovery_does_not_count(service: Service) -> None:
    first, second = Client(service), Client(service, 1)
    first.call("join", rank=0, ranks=3)
    watch, registry = JoinWatch(service.registry, 10), service.registry
    with registry.changed:
        session = registry.sessions[second.reply.session]
        session.machine.fire(SessionEvent.FENCE)
    watch.look(11)
    assert not absences
    with registry.changed:
        session.machine.fire(SessionEvent.RESUME)
    watch.look(6)
    second.call("join", rank=1, ranks=3)  # the time counts from the newest rank
    watch.look(6)
    assert not absences
    watch.look(5)
    assert [rank for rank, _ in told()] == [2]
    first.close()
    second.close()
