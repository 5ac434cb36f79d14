"""Tenants of a service in this process: who gets which, what they share, and what outlives them and the service."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from standin_client import config, started
from toolkit.program import ProgramProcess
from toolkit.users import as_user
from toolkit.waiting import until

from jitc.proxy.backends.base import HealthEvent
from jitc.proxy.commands.questions import text
from jitc.proxy.common import rpc
from jitc.proxy.front import entrance
from jitc.proxy.keeper.admission import UnknownUser
from jitc.proxy.keeper.claim import foreign
from jitc.proxy.keeper.log import Log
from jitc.proxy.keeper.peer import Peer
from jitc.proxy.node.take_over import OtherOptions
from jitc.proxy.ranks.states import SessionEvent
from jitc.proxy.service import Service
from jitc.proxy.tenants import tenants as module
from jitc.proxy.tenants.tenant import Tenant
from jitc.proxy.tenants.tenants import TooMany
from jitc.v1 import control_pb2

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root's service has tenants of other users")

ANN, BOB, EVE = (Peer(0, uid, uid, ()) for uid in (1001, 1002, 1003))


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder of which other users can enter all above; a service leaves nothing in it."""
    with tempfile.TemporaryDirectory(prefix="jitc-test-") as made:
        Path(made).chmod(0o755)
        yield Path(made, "run")
        assert os.listdir(f"{made}/run") == []


@pytest.fixture
def shared(folder: Path) -> Iterator[Service]:
    with started(Service(config(folder, users="1001,1002", admins="1002"))) as one:
        yield one


#: Asks the service as this user, and prints the answer, or the refusal.
ASKS = """
import os, sys
from jitc.proxy.common import rpc
from jitc.v1 import control_pb2
import grpc
uid = int(sys.argv[2])
os.setgroups([]); os.setresgid(uid, uid, uid); os.setresuid(uid, uid, uid)
with rpc.channel(sys.argv[1]) as link:
    requests = {"Status": control_pb2.StatusRequest(), "Report": control_pb2.ReportRequest()}
    try:
        print(getattr(rpc.admin(link), sys.argv[3])(requests[sys.argv[3]], timeout=60).json)
    except grpc.RpcError as error:
        print(error.code().name, error.details())
"""


def asked(service: Service, peer: Peer, what: str = "Status") -> str:
    words = [sys.executable, "-c", ASKS, service.config.socket, str(peer.uid), what]
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=100).stdout.strip()


def test_everybody_has_one(shared: Service) -> None:
    """With a folder of the user's, whatever groups the user has by now."""
    ann = shared.tenants.of(ANN)
    assert shared.tenants.of(Peer(7, ANN.uid, ANN.gid, (9,))) is ann
    assert ann.keeper.owner is not None and ann.keeper.owner.groups == (9,)
    bob = shared.tenants.of(BOB)
    assert len({ann, bob, shared.own}) == 3
    assert shared.tenants.of(Peer(os.getpid(), 0, 0, ())) is shared.own
    assert shared.tenants.all() == [shared.own, ann, bob]
    for uid in (ANN.uid, BOB.uid):
        for path in (Path(f"{shared.config.socket}.d/u{uid}"), Path(f"{shared.config.socket}.d/u{uid}/images")):
            found = path.stat()
            assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (uid, uid, 0o700)


def test_many_that_come_at_once_have_one(shared: Service) -> None:
    found: list[Tenant] = []
    threads = [threading.Thread(target=lambda: found.append(shared.tenants.of(ANN))) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert len(found) == 8 and len(set(found)) == 1


def test_who_asks_is_who_the_kernel_says(shared: Service) -> None:
    """A user sees the own, an administrator and root all, and who is not admitted is told so."""
    for peer in (ANN, BOB):
        shared.tenants.of(peer).faults._told.append({"time": float(peer.uid), "kind": str(peer.uid)})

    def injected(peer: Peer) -> list[str]:
        return [one["kind"] for one in json.loads(asked(shared, peer, "Report"))["injected"]]

    assert injected(ANN) == ["1001"]
    assert injected(BOB) == ["1001", "1002"]
    whose = [one["user"] for one in json.loads(asked(shared, BOB, "Report"))["injected"]]
    assert whose == ["1001", "1002"]
    with rpc.channel(shared.config.socket) as link:
        report = rpc.admin(link).Report(control_pb2.ReportRequest(), timeout=60).json
    assert len(json.loads(report)["injected"]) == 2
    assert asked(shared, EVE) == (
        "PERMISSION_DENIED this user may not use this jitc-proxyd, which serves 1001,1002 (--users)"
    )


#: Calls the service as this user with another one's token, ticket, session and communicator id; says each answer.
GUESSES = """
import json, os, sys
from jitc.proxy.common import rpc
from jitc.proxy.common.paths import PROTOCOL_VERSION
from jitc.v1 import control_pb2
import grpc
uid, (token, ticket, session, epoch, unique_id) = int(sys.argv[2]), json.loads(sys.argv[3])
os.setgroups([]); os.setresgid(uid, uid, uid); os.setresuid(uid, uid, uid)
attach = {"protocol_version": PROTOCOL_VERSION, "gpu": 0, "pid": 1, "wait_ms": 1000}
join = {"session": session, "unique_id": bytes.fromhex(unique_id), "ranks": 2, "rank": 1, "epoch": epoch}
with rpc.channel(sys.argv[1]) as link:
    node, coordinator = rpc.node(link), rpc.coordinator(link)
    for call, request in (
        (node.Attach, control_pb2.AttachRequest(token=token, **attach)),
        (node.Attach, control_pb2.AttachRequest(program=ticket, **attach)),
        (node.Detach, control_pb2.DetachRequest(token=token)),
        (coordinator.JoinCommunicator, control_pb2.JoinRequest(**join)),
    ):
        try:
            print(" ".join(str(call(request, timeout=60)).split()))
        except grpc.RpcError as error:
            print(error.code().name, error.details())
"""
UNKNOWN = [
    "NOT_FOUND unknown session: it was closed, or the service is another one",
    "UNAVAILABLE the program is not connected to the keeper; connect and ask again",
    "NOT_FOUND unknown session; it may have been closed already",
]


def test_what_was_guessed_of_another_user_is_unknown(shared: Service) -> None:
    """A token, a ticket, the number of a session, and the id of a communicator that waits for a rank: with that one a
    user gets a communicator of the own, which ranks of the other user never meet."""
    ann, bob = (shared.tenants.of(peer) for peer in (ANN, BOB))
    program = ProgramProcess(shared.config.socket, as_user(ANN.uid))
    unique_id, request = b"i" * 128, control_pb2.AttachRequest(gpu=0, pid=1, program=program.ticket)
    session = ann.registry.add(request)
    with ann.registry.changed:
        waiting = ann.registry.communicators.join(session, unique_id, 2, 0)
    known = json.dumps([session.token, program.ticket, session.number, session.epoch, unique_id.hex()])
    words = [sys.executable, "-c", GUESSES, shared.config.socket, str(BOB.uid), known]

    def said() -> list[str]:
        return subprocess.run(words, check=True, capture_output=True, text=True, timeout=100).stdout.splitlines()

    assert said() == [*UNKNOWN, "superseded: true"]
    own = bob.registry.add(control_pb2.AttachRequest(gpu=0, pid=2))
    assert own.number == session.number, "numbers are each user's own"
    *others, joined = said()
    (theirs,) = bob.registry.communicators
    assert others == UNKNOWN and f"identity: {theirs.identity}" in joined
    assert theirs.identity != waiting.identity and theirs.missing() == [0]
    assert waiting.members == {session.number: 0} and waiting.missing() == [1]
    assert ann.registry.by_token(session.token) is session
    for registry, one in ((ann.registry, session), (bob.registry, own)):
        registry.remove(one)
        registry.free_slot(one)
    program.kill()


def test_limits_hold_for_each_user(shared: Service) -> None:
    """Each has the whole of them, as if alone: for copies, journals, sessions, and images of kernels."""
    tenants = [shared.tenants.of(peer) for peer in (ANN, BOB)]
    sessions = [one.registry.add(control_pb2.AttachRequest(gpu=0, pid=1)) for one in tenants]
    given = shared.config
    for session in sessions:
        assert (session.memory.journal.size, session.memory.snapshot.size, session.memory.spill.size) == (
            given.journal_bytes, given.snapshot_bytes, given.spill_bytes,
        )  # fmt: skip
        assert session.memory.pinned is not None and session.memory.pinned.size == given.pinned_bytes
        assert session.slot == 0, "the first of the user's"
    boards = {os.fstat(one.registry.board.fd).st_ino for one in (shared.own, *tenants)}
    assert len(boards) == 3, "on which a user's sessions count what they have taken"
    assert len({one.config.images_directory() for one in (shared.own, *tenants)}) == 3
    for peer, users in ((ANN, 1), (BOB, 3)):  # BOB is an administrator, who sees root's and ANN's too
        assert json.loads(asked(shared, peer))["copies"]["limit_bytes"] == users * given.snapshot_bytes
    for tenant, session in zip(tenants, sessions, strict=True):
        tenant.registry.remove(session)
        tenant.registry.free_slot(session)


def test_two_users_may_call_a_job_the_same(shared: Service) -> None:
    """Names are each user's own; who sees both jobs sees whose they are."""
    request = control_pb2.AttachRequest(gpu=0, pid=1, rank=0, world_size=1, job="run-7", launch="1")
    registries = [shared.tenants.of(peer).registry for peer in (ANN, BOB)]
    sessions = [registry.add(request) for registry in registries]
    told = text.status(json.loads(asked(shared, BOB)))
    assert "job run-7 of user 1001" in told and "job run-7 of user 1002" in told
    assert "job run-7  rank 0 of 1" in text.status(json.loads(asked(shared, ANN)))
    for registry, session in zip(registries, sessions, strict=True):
        registry.remove(session)
        registry.free_slot(session)


def test_a_tenant_that_cannot_be_made(shared: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its user is told why, and the next try may succeed."""
    with monkeypatch.context() as broken:
        broken.setattr(module, "make_folder", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        assert "cannot serve this user now: [Errno 28] No space left" in asked(shared, ANN)
    assert json.loads(asked(shared, ANN))["gpus"]


def test_there_is_a_limit(shared: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tenant that has rested for longest ends, and is there again with its reports; one with programs stays."""
    monkeypatch.setattr(module, "MOST", 1)
    ann = shared.tenants.of(ANN)
    ann.registry.log.put("report/1", {"gpus": [0]})
    gpu = ann.registry.gpus[0]
    gpu.attaching = 1
    with pytest.raises(TooMany, match="programs of 1 users are running"):
        shared.tenants.of(BOB)
    assert "programs of 1 users are running on this node" in asked(shared, BOB)
    gpu.attaching = 0
    bob = shared.tenants.of(BOB)
    assert shared.tenants.all() == [shared.own, bob]
    again = shared.tenants.of(ANN)
    assert again is not ann and again.registry.log.get("report/1") == {"gpus": [0]}
    assert shared.tenants.all() == [shared.own, again]
    assert json.loads(asked(shared, ANN))["gpus"]


def test_there_is_a_limit_to_what_is_known(shared: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user who was here longest ago goes, with the folder; who has a tenant stays."""
    monkeypatch.setattr(module, "KNOWN", 2)
    monkeypatch.setattr(module, "MOST", 1)
    for number in range(1, 6):
        shared.tenants.of(Peer(0, 1000 + number, 1000 + number, ()))
    assert len(shared.tenants.users()) <= 3 and 1005 in shared.tenants.users()
    assert {one.name for one in Path(f"{shared.config.socket}.d").glob("u*")} == {
        f"u{uid}" for uid in shared.tenants.users()
    }


def test_servers_that_nobody_needs(shared: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest ends; who needs it again gets another one."""
    monkeypatch.setattr(entrance, "SERVERS", 2)
    for peer in (ANN, BOB, EVE, ANN):
        asked(shared, peer)
    assert shared._entrance is not None
    assert len(shared._entrance._servers) == 2
    private = Path(f"{shared.config.socket}.d")
    until(lambda: len(list(private.glob("s-*"))) == 2, 20, "the others' sockets are gone")


def test_spares_end_when_nobody_needs_them(shared: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    rested = []
    ann, bob = shared.tenants.of(ANN), shared.tenants.of(BOB)
    monkeypatch.setattr(ann.supervisor, "rest", lambda: rested.append("ann"))
    monkeypatch.setattr(bob.supervisor, "rest", lambda: rested.append("bob"))
    bob.registry.gpus[0].attaching = 1
    shared.tenants._rest()
    assert rested == []
    monkeypatch.setattr(module, "REST_SECONDS", 0.0)
    shared.tenants._rest()
    assert rested == ["ann"]
    bob.registry.gpus[0].attaching = 0


def test_a_lost_gpu_is_everybodys(shared: Service) -> None:
    """Also of a user who comes later; one who takes it back takes it back for the own programs."""
    ann = shared.tenants.of(ANN)
    shared.tenants.unhealthy(HealthEvent(0, "device-lost", "it fell off the bus", lost=True))
    bob = shared.tenants.of(BOB)
    for one in (shared.own, ann, bob):
        assert "it fell off the bus" in one.registry.gpus[0].lost
        assert one.registry.gpus[1].lost == ""
    ann.return_gpu(0)
    assert ann.registry.gpus[0].lost == "" and bob.registry.gpus[0].lost


def test_what_a_workers_user_may_have_sent(shared: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counters that are none: the session is shown without them."""
    from jitc.proxy.node.api import status
    from jitc.proxy.node.session import Session

    ann = shared.tenants.of(ANN)
    request = control_pb2.AttachRequest(gpu=0, pid=1, rank=0, world_size=1)
    session: Session = ann.registry.add(request)
    turns = {"moved_out": 3, "bytes": "many", "seconds": [], "waits": "x"}
    for strange in (
        {"memory_used": "much"}, {"boundary": None}, {"turns": [1]}, {"boundary_phases": 3}, {"boundary": float("inf")},
        {"turns": turns},
    ):  # fmt: skip
        monkeypatch.setattr(status, "stats_of", lambda _, strange=strange: {session.number: strange})
        document: dict[str, Any] = json.loads(asked(shared, BOB))
        [shown] = document["gpus"][0]["sessions"]
        assert shown["user"] == "1001" and shown["boundary"] == 0
    ann.registry.remove(session)
    ann.registry.free_slot(session)


def test_reports_go_on_to_a_service_that_begins_anew(folder: Path) -> None:
    first = Service(config(folder, users="1001"))
    first.start()
    first.tenants.of(ANN).registry.log.put("report/1", {"gpus": [0]})
    left = {uid: Log(one, lambda descriptor: None) for uid, one in first.logs().items()}
    assert set(left) == {-1, ANN.uid}
    first.stop(leaves_folder=True)
    with started(Service(config(folder, users="1001,1002"), left=left)) as second:
        assert second.tenants.users() == [ANN.uid]
        assert second.tenants.of(ANN).registry.log.get("report/1") == {"gpus": [0]}


def test_a_service_for_one_user_after_one_for_several(folder: Path) -> None:
    """Its folder is closed again."""
    with started(Service(config(folder, users="1001"))) as one:
        assert Path(f"{one.config.socket}.d").stat().st_mode & 0o777 == 0o711
        one.leave()
    with started(Service(config(folder))) as one:
        assert Path(f"{one.config.socket}.d").stat().st_mode & 0o777 == 0o700
        assert Path(one.config.socket).stat().st_mode & 0o777 == 0o600


def test_users_who_are_not_listed_any_more(folder: Path) -> None:
    """Their programs are served to the end, by a service for several users; another one does not take over."""
    first = Service(config(folder, users="1001"))
    first.start()
    ann, program = first.tenants.of(ANN), ProgramProcess(first.config.socket, as_user(ANN.uid))
    session = ann.registry.add(control_pb2.AttachRequest(gpu=0, pid=1, program=program.ticket))
    session.machine.fire(SessionEvent.OPENED)
    ann.registry.note(session)
    assert ann.keeper.watch(program.ticket)
    assert "programs of user 1001 are running; start jitc-proxyd with --users" in first.refuses(config(folder))
    assert not ann.node.moving
    first.leave()
    with pytest.raises(OtherOptions, match="programs of user 1001 are running"):
        Service(config(folder))
    with started(Service(config(folder, users="1002"))) as second:
        assert json.loads(asked(second, ANN))["gpus"]
        [tenant] = second.tenants.all()[1:]
        program.kill()
        until(lambda: not tenant.registry.sessions, 20, "its session has ended")
        assert "this user may not use" in asked(second, ANN)


def test_a_service_that_ends_takes_nobody(shared: Service) -> None:
    """Users who come meanwhile either."""
    ann = shared.tenants.of(ANN)
    assert shared.drain() == 0
    bob = shared.tenants.of(BOB)
    assert shared.own.node.draining and ann.node.draining and bob.node.draining
    shared.tenants.begin_anew(True)
    assert bob.node.moving and shared.tenants.of(EVE).node.moving
    shared.tenants.begin_anew(False)
    assert not (bob.node.moving or shared.own.node.moving)


def test_a_folder_that_nobody_can_enter(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder.mkdir(mode=0o700)
    with started(Service(config(folder, users="1001"))):
        said = capfd.readouterr().err
        assert f"other users cannot enter {folder}, so none of their programs is served; chmod o+x {folder}" in said


def test_nobody_is_left_out_in_silence(folder: Path) -> None:
    folder.mkdir()
    with pytest.raises(UnknownUser, match="nobody-has-this-name"):
        Service(config(folder, users="nobody-has-this-name"))


def test_what_a_user_leaves_in_the_folder_goes(folder: Path) -> None:
    """Whatever it is; a link leads nowhere."""
    kept = folder.parent / "kept"
    kept.mkdir()
    (kept / "file").touch()
    with started(Service(config(folder, users="1001"))) as one:
        own = one.tenants.of(ANN).config.workers_directory()
        (own / "link").symlink_to(kept)
        (own / "deep" / "er").mkdir(parents=True)
        (own / "deep" / "er" / "file").touch()
        (own / "images").rmdir()
        (own / "images").symlink_to(kept)
    assert (kept / "file").exists()


def deep(folder: Path, levels: int) -> None:
    """Makes folders within each other, deeper than a path can be."""
    before = os.open(".", os.O_RDONLY)
    try:
        os.chdir(folder)
        for _ in range(levels):
            os.mkdir("x")
            os.chdir("x")
        Path("file").touch()
    finally:
        os.chdir(before)
        os.close(before)


def test_a_very_deep_folder_goes_too(folder: Path) -> None:
    with started(Service(config(folder, users="1001"))) as one:
        deep(one.tenants.of(ANN).config.workers_directory(), 3000)


def test_a_folder_that_cannot_be_removed_keeps_no_service_away(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Because it is too large: the next service starts, and removes more of it."""
    with monkeypatch.context() as hasty:
        hasty.setattr(foreign, "SECONDS", -1.0)
        first = Service(config(folder, users="1001"))
        first.start()
        (first.tenants.of(ANN).config.workers_directory() / "x").mkdir()
        first.keeper.end(leaves_folder=True)  # the service, and not the keeper, removes what is there
        first.stop()
    assert "of another user, cannot be removed yet" in capfd.readouterr().err
    assert list(Path(f"{folder}/s.d").glob("u1001.*"))
    with started(Service(config(folder, users="1001"))) as second:
        assert second.tenants.of(ANN)


def test_a_user_who_cannot_be_taken_over_is_no_other_users_affair(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    first = Service(config(folder, users="1001,1002"))
    first.start()
    programs = {}
    for peer in (ANN, BOB):
        tenant, program = first.tenants.of(peer), ProgramProcess(first.config.socket, as_user(peer.uid))
        session = tenant.registry.add(control_pb2.AttachRequest(gpu=0, pid=1, program=program.ticket))
        session.machine.fire(SessionEvent.OPENED)
        tenant.registry.note(session)
        assert tenant.keeper.watch(program.ticket)
        programs[peer] = program
    first.leave()
    begin = Tenant.begin

    def fails(self: Tenant, takes_over: bool) -> Any:
        if self.keeper.uid == ANN.uid:
            raise IsADirectoryError(21, "Is a directory")
        return begin(self, takes_over)

    monkeypatch.setattr(Tenant, "begin", fails)
    with started(Service(config(folder, users="1001,1002"))) as second:
        assert [one.keeper.uid for one in second.tenants.all()] == [0, BOB.uid]
        assert "user 1001 cannot be taken over: IsADirectoryError" in capfd.readouterr().err
        for program in programs.values():
            program.kill()


def test_a_socket_s_name_that_is_a_folder(shared: Service) -> None:
    """A worker is forgotten whatever its user has put in the place of its socket."""
    ann = shared.tenants.of(ANN)
    path = ann.config.workers_directory() / "w1"
    path.mkdir()
    ann.registry.log.put("worker/77", {"socket": str(path)})
    assert ann.supervisor.forget(77, str(path)) is None
    assert ann.registry.log.get("worker/77") is None


def test_requests_are_small(shared: Service) -> None:
    with rpc.channel(shared.config.socket) as link, pytest.raises(grpc.RpcError) as refused:
        rpc.admin(link).Inject(control_pb2.InjectRequest(fault=control_pb2.Fault(kind="x" * (1 << 20))), timeout=60)
    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_a_call_in_the_end_is_refused(shared: Service) -> None:
    shared.tenants.stop()
    with pytest.raises(TooMany, match="is ending"):
        shared.tenants.of(ANN)
    assert asked(shared, ANN) == "UNAVAILABLE jitc-proxyd is ending; ask again"
