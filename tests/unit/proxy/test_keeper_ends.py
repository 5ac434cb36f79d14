"""The keeper is killed at any moment of a job: the service begins anew in its process, and nothing of the job differs.

Real services in processes of their own, real workers; two ranks in this process. A service kills its keeper at a record
of its log (dying_proxyd.py). What concerns a service alone is tried in this process.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from client_rig import check, train
from proxyd_rig import DYING, PLAIN, Proxyd, at_records, close, trains_through_a_loss, worker_of
from standin_client import config
from toolkit.program import Program
from toolkit.sandbox import pid_namespace
from toolkit.waiting import patient, stop_process, until

from jitc.proxy import service as services
from jitc.proxy.commands.lifecycle import keeper_lost
from jitc.proxy.commands.lifecycle import kept as left
from jitc.proxy.commands.lifecycle.kept import Kept
from jitc.proxy.common import rpc
from jitc.proxy.common.paths import PROTOCOL_VERSION
from jitc.proxy.node.api import programs
from jitc.proxy.service import Service
from jitc.v1 import control_pb2

pytestmark = pytest.mark.timeout(150)
QUICK = {1, 9, 20, 30, 36}


@pytest.mark.parametrize(("count", "when"), at_records(QUICK))
@pytest.mark.sampled
def test_killed_at_a_record(count: int, when: str, proxyd: Proxyd) -> None:
    """Wherever it dies: two ranks begin, train, lose a worker and train on, and end with what they should have."""
    first = proxyd.start([*DYING, "keeper", str(count), when])
    trains_through_a_loss(proxyd)
    said = "jitc-keeper has ended, and all workers with it"
    until(lambda: said in proxyd.log.read_text(), 30, f"there are no fewer records than {count}")
    assert first.poll() is None
    proxyd.ready(first)


def test_with_a_service_that_is_killed_too(proxyd: Proxyd) -> None:
    """Nobody else holds anything here, so the job ends with an error, and nothing is left."""
    first, ranks = proxyd.begin()
    workers = [worker_of(client) for client in ranks]
    os.kill(proxyd.keeper(), signal.SIGSTOP)
    first.kill()
    first.wait()
    os.kill(proxyd.keeper(), signal.SIGKILL)
    until(lambda: not any(Path(f"/proc/{pid}/fd").exists() for pid in workers), 10, "the workers have ended")
    proxyd.ready(proxyd.start(PLAIN))
    with pytest.raises(grpc.RpcError) as refused:
        ranks[0].node.Attach(ranks[0].request, timeout=patient(30))
    assert rpc.status_of(refused.value) == (
        grpc.StatusCode.NOT_FOUND, "unknown session: it was closed, or the service is another one"
    )  # fmt: skip
    for client in ranks:
        client.close_stream()
        client.link.close()
        client.program.close()


@pytest.mark.parametrize("seed", [0, *(pytest.param(one, marks=pytest.mark.slow) for one in range(1, 16))])
@pytest.mark.parametrize("option", ["--replace", pytest.param("", marks=pytest.mark.slow)])
def test_while_another_service_begins(option: str, seed: int, proxyd: Proxyd) -> None:
    """It is to replace this one, or a mistake: one of the two serves in the end, with all that the keeper held."""
    first, ranks = proxyd.begin()
    train(ranks, 2)
    second = proxyd.start(PLAIN, *([option] if option else []))
    threading.Event().wait(random.Random(seed).uniform(0.2, 2))  # from before it begins until it serves
    os.kill(proxyd.keeper(), signal.SIGKILL)
    train(ranks, 2)
    check(ranks, 4)
    os.kill(worker_of(ranks[1]), signal.SIGKILL)
    train(ranks, 1)
    check(ranks, 5)
    until(lambda: None not in (first.poll(), second.poll()) or proxyd.recoveries(), 30, "one serves")
    proxyd.serving = until(lambda: the_one_left(first, second), 60, "the other one has ended")
    close(ranks)


def the_one_left(first: subprocess.Popen[str], second: subprocess.Popen[str]) -> subprocess.Popen[str] | None:
    left = [one for one in (first, second) if one.poll() is None]
    return left[0] if len(left) == 1 else None


def test_again_and_again(proxyd: Proxyd) -> None:
    """That is no accident: the service ends, and says so."""
    first = proxyd.start(PLAIN)
    for _ in range(keeper_lost.ENDS):
        proxyd.ready(first)
        assert first.poll() is None
        os.kill(proxyd.keeper(), signal.SIGKILL)
    assert first.wait(patient(60)) == 1
    assert "ended again and again; not started any more" in proxyd.log.read_text()
    proxyd.ready(proxyd.start(PLAIN))


@pytest.mark.slow
@pytest.mark.parametrize("option", ["", "--replace"])
def test_one_that_is_stopped_holds_no_other_service_up(option: str, proxyd: Proxyd) -> None:
    """That one says which process does not answer, and ends; when the keeper goes on, its own service has all of it."""
    first, ranks = proxyd.begin()
    proxyd.serving = first
    train(ranks, 1)
    keeper = proxyd.keeper()
    stop_process(keeper)
    second = proxyd.start(PLAIN, *([option] if option else []))
    assert second.wait(patient(120)) == 1
    os.kill(keeper, signal.SIGCONT)
    (line,) = [one for one in proxyd.log.read_text().splitlines() if "does not answer" in one]
    assert line.startswith(f"jitc-proxyd: jitc-keeper (process {keeper}), which has {proxyd.config.socket}, does not")
    if option:  # it was asked to make room, and hears of that only now
        until(lambda: "this one goes on" in proxyd.log.read_text(), 60, "the one before goes on")
        proxyd.ready(first)
    train(ranks, 1)
    os.kill(worker_of(ranks[1]), signal.SIGKILL)
    train(ranks, 1)
    check(ranks, 3)
    close(ranks)


@pytest.mark.slow
def test_one_that_is_stopped_in_another_container(proxyd: Proxyd) -> None:
    """As podman pause stops it. Its process has no number here."""
    apart = pid_namespace()
    if not apart:
        pytest.skip("no namespace of processes can be made here")
    first = proxyd.start([*apart, *PLAIN])
    proxyd.ready(first)
    proxyd.serving = first
    keeper = proxyd.keeper()
    stop_process(keeper)
    assert proxyd.start([*apart, *PLAIN]).wait(patient(120)) == 1
    os.kill(keeper, signal.SIGCONT)
    assert "does not answer, and its process cannot be seen from here" in proxyd.log.read_text()


def test_workers_that_are_still_ending_are_waited_for(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """But not for ever."""
    monkeypatch.setattr(left, "ENDING_SECONDS", 0.2)
    (ended, closed), (lives, write) = os.pipe(), os.pipe()
    os.close(closed)
    kept = Kept(ending=[ended])
    kept.wait()
    assert capfd.readouterr().err == ""
    kept.ending.append(lives)
    kept.wait()
    assert "1 processes of the keeper before have not ended" in capfd.readouterr().err
    kept.close()
    os.close(write)


def test_what_is_left_reaches_the_next_program_in_the_process() -> None:
    memory = os.memfd_create("test")
    kept = Kept({"log": memory}, [], [1.0], 7)
    descriptor = int(kept.words()[1])
    assert os.get_inheritable(memory) and os.get_inheritable(descriptor)
    assert Kept.read(descriptor) == kept
    assert not os.get_inheritable(memory)
    kept.close()


# -- one service after the other in this process -------------------------------------------------------


class Places:
    """A service with two sessions whose keeper dies, and the next one."""

    def __init__(self, folder: Path) -> None:
        self.config = config(folder)
        self.first = Service(self.config)
        self.first.start()
        self.programs = [Program(self.config.socket) for _ in range(2)]
        self.sessions = [self.attach(gpu, one) for gpu, one in enumerate(self.programs)]
        self.services: list[Service] = []

    def attach(self, gpu: int, program: Program, token: str = "") -> Any:
        with rpc.channel(self.config.socket) as link:
            request = control_pb2.AttachRequest(
                protocol_version=PROTOCOL_VERSION, gpu=gpu, pid=os.getpid(), rank=-1, wait_ms=20000, token=token,
                program=program.ticket,
            )  # fmt: skip
            return rpc.node(link).Attach(request, timeout=patient(30), wait_for_ready=True)

    def next(self) -> Service:
        """The one that follows when the keeper has been killed."""
        before = self.first if not self.services else self.services[-1]
        os.kill(before.keeper.pid, signal.SIGKILL)
        assert before.keeper.process is not None
        before.keeper.process.wait()
        kept = {name: os.dup(one) for name, one in before.backup.descriptors().items()}
        before.leave()
        service = Service(self.config, kept=kept)
        self.services.append(service)
        for one in kept.values():
            os.close(one)
        service.start()
        return service


@pytest.fixture
def places(tmp_path: Path) -> Iterator[Places]:
    one = Places(tmp_path)
    yield one
    for program in one.programs:
        program.close()
    one.services[-1].stop()
    assert not list(tmp_path.iterdir())


def test_programs_come_back_with_a_new_ticket(places: Places) -> None:
    """Then their end is known again. A ticket that is none, or another keeper's, is refused."""
    service = places.next()
    first, second = (one.token for one in places.sessions)
    for ticket in ("", "x", places.programs[0].ticket):
        with pytest.raises(grpc.RpcError) as refused:
            places.attach(0, type("Other", (), {"ticket": ticket})(), first)
        assert rpc.status_of(refused.value)[0] in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.UNAVAILABLE)
    for index, token in enumerate((first, second)):
        places.programs[index].close()
        places.programs[index] = Program(places.config.socket)
        assert places.attach(index, places.programs[index], token).session == places.sessions[index].session
    assert [one.program for one in service.registry.sessions.values()] == [one.ticket for one in places.programs]
    places.programs[0].close()
    until(lambda: len(service.registry.sessions) == 1, 30, "the first session has ended with its program")
    # Another ticket changes nothing once a program is known.
    stranger = Program(places.config.socket)
    places.attach(1, stranger, second)
    stranger.close()
    assert [one.program for one in service.registry.sessions.values()] == [places.programs[1].ticket]


def test_a_program_that_does_not_come_back(
    places: Places, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its session is closed in time, also by a service that takes over meanwhile."""
    service = places.next()
    places.programs[1].close()
    places.programs[1] = Program(places.config.socket)
    places.attach(1, places.programs[1], places.sessions[1].token)
    service.leave()
    monkeypatch.setattr(programs, "RETURN_SECONDS", 0.5)
    another = Service(places.config)
    places.services.append(another)
    another.start()
    until(lambda: len(another.registry.sessions) == 1, 30, "the other session is closed")
    assert "session 1 is closed: its program has not come back" in capfd.readouterr().err
    assert [one.number for one in another.registry.sessions.values()] == [2]


def test_what_sessions_have_in_the_folder_stays(places: Places) -> None:
    """Images of kernels, which their journals name; sockets of dead workers and services do not."""
    folder = places.config.private_directory()
    image = folder / "images" / ("a" * 32)
    image.write_bytes(b"kernels")
    sockets = {one.name for one in folder.iterdir() if one.is_socket()} - {"keeper", "programs"}
    assert sockets
    places.next()
    assert image.read_bytes() == b"kernels"
    assert not sockets & {one.name for one in folder.iterdir()}


def test_of_another_version(places: Places, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """What it held is of no use, and that is said; the service begins without it."""
    monkeypatch.setattr(services, "VERSIONS", services.VERSIONS | {"journal": 99})
    service = places.next()
    assert "of another version of jitc, and cannot be used: its jobs end" in capfd.readouterr().err
    assert not service.takes_over and not service.registry.sessions


def test_a_session_whose_memory_is_not_complete(places: Places, capfd: pytest.CaptureFixture[str]) -> None:
    """As systemd's store may be, which has room for so much."""
    places.first.backup.forget(["1/journal"])
    service = places.next()
    assert [one.number for one in service.registry.sessions.values()] == [2]
    assert "session 1 is gone" in capfd.readouterr().err
