"""What the service and a worker refuse, and that nobody else is disturbed by it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import grpc
import pytest
from standin_client import Client, config, stream, wait_until, worker_of

from jitc.ops.options.table import PINNED_MOST
from jitc.proxy.common import rpc
from jitc.proxy.common.config import (
    ADDRESS_BASES,
    PINNED_BASE,
    SLOTS,
)
from jitc.proxy.common.paths import PROTOCOL_VERSION
from jitc.proxy.keeper.claim.socket_lock import SocketInUse, SocketLock
from jitc.proxy.node.addresses import Addresses, free, nth
from jitc.proxy.service import Service
from jitc.v1 import control_pb2


def refusal(call: Any, *arguments: Any, **options: Any) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as caught:
        result = call(*arguments, **options)
        for _ in result if hasattr(result, "__next__") else []:
            pass
    return rpc.status_of(caught.value)


def attach(service: Service, **changes: Any) -> tuple[grpc.StatusCode, str]:
    values = {"protocol_version": PROTOCOL_VERSION, "gpu": 0, "pid": os.getpid(), "wait_ms": 5000} | changes
    with rpc.channel(service.config.socket) as link:
        return refusal(rpc.node(link).Attach, control_pb2.AttachRequest(**values), timeout=20)


def test_no_two_jobs_have_one_name(service: Service) -> None:
    clients = [
        Client(service, gpu, rank=rank, world_size=2, job="train", launch=launch)
        for gpu, rank, launch in ((0, 0, "a"), (1, 1, "a"), (0, 0, "b"), (1, -1, ""))
    ]
    status = json.loads(clients[0].admin.Status(control_pb2.StatusRequest(), timeout=10).json)
    jobs = sorted((one["job"], one["rank"]) for gpu in status["gpus"] for one in gpu["sessions"])
    assert jobs == [("train", -1), ("train", 0), ("train", 1), ("train (2)", 0)], "one has an old library"


def test_describe(service: Service) -> None:
    with rpc.channel(service.config.socket) as link:
        reply = rpc.node(link).Describe(control_pb2.DescribeRequest(protocol_version=PROTOCOL_VERSION), timeout=10)
        assert [gpu.index for gpu in reply.gpus] == [0, 1]
        assert len({gpu.uuid for gpu in reply.gpus}) == 2
        assert all(len(gpu.uuid) == 32 and gpu.memory_total == 4 << 30 for gpu in reply.gpus)
        assert not any(gpu.cudnn for gpu in reply.gpus)
        code, text = refusal(
            rpc.node(link).Describe, control_pb2.DescribeRequest(protocol_version=PROTOCOL_VERSION + 1), timeout=10
        )
    assert code is grpc.StatusCode.FAILED_PRECONDITION
    assert f"version {PROTOCOL_VERSION + 1}" in text


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"protocol_version": 7}, grpc.StatusCode.FAILED_PRECONDITION, "version 7"),
        ({"gpu": 2}, grpc.StatusCode.NOT_FOUND, "GPU 2 does not exist"),
        ({"token": "0" * 32}, grpc.StatusCode.NOT_FOUND, "unknown session"),
        ({"program": "0" * 32}, grpc.StatusCode.UNAVAILABLE, "not connected to the keeper"),
        ({"program": "../keeper"}, grpc.StatusCode.INVALID_ARGUMENT, "no ticket"),
        ({"program": ""}, grpc.StatusCode.INVALID_ARGUMENT, "no ticket"),
    ],
)
def test_attach_is_refused(service: Service, changes: Any, code: grpc.StatusCode, words: str) -> None:
    client = Client(service)
    assert attach(service, **changes)[0] is code
    assert words in attach(service, **changes)[1]
    client.send("add", value=2)
    assert client.call("get")["value"] == 2
    client.close()
    assert not service.registry.sessions


def test_sessions_have_ranges_of_their_own(service: Service) -> None:
    clients = [Client(service, gpu) for gpu in (0, 0, 1)]
    bases = [client.reply.address_base for client in clients]
    assert bases == [0x2000_0000_0000 + slot * 2**41 for slot in range(3)]
    assert len({client.reply.worker_socket for client in clients}) == 3
    for client in clients:
        client.close()


def test_ranges_do_not_meet_and_the_first_are_large() -> None:
    """PyTorch's expandable segments reserve more than the GPU has, several times over."""
    ranges = [nth(number) for number in range(SLOTS)]
    assert [one.bytes for one in ranges] == [2**41] * 16 + [2**38] * 48
    assert all(one.base + one.bytes == following.base for one, following in pairwise(ranges))
    assert ranges[-1].base + ranges[-1].bytes == PINNED_BASE
    assert PINNED_BASE + SLOTS * PINNED_MOST <= 0x5000_0000_0000  # programs lie above


def test_ranges_fit_wherever_they_begin() -> None:
    for base in ADDRESS_BASES:
        first, last = nth(0, base), nth(SLOTS - 1, base)
        assert first.base == base and last.base + last.bytes == first.pinned
        assert last.pinned + PINNED_MOST <= 0x5000_0000_0000
    assert ADDRESS_BASES[0] == max(ADDRESS_BASES) and len(set(ADDRESS_BASES)) == len(ADDRESS_BASES)


def test_a_range_is_free_that_meets_none() -> None:
    """Also none of a session that began where ranges begin elsewhere."""
    base = ADDRESS_BASES[0]
    assert free([], base) == nth(0)
    assert free([nth(0), nth(2)], base) == nth(1)
    assert free([Addresses(nth(0).base + 4096, 2**41, nth(7).pinned)], base) == nth(2)
    assert free([Addresses(1 << 40, 4096, nth(0).pinned + 4096)], base) == nth(2)
    assert free([nth(number) for number in range(SLOTS)], base) is None


def test_second_owner_is_refused(service: Service) -> None:
    client = Client(service)
    with rpc.channel(client.reply.worker_socket) as link:
        code, text = refusal(stream, link, iter([]), client.reply.token)
    assert code is grpc.StatusCode.ALREADY_EXISTS
    assert "another process" in text
    client.send("add", value=2)
    assert client.call("get")["value"] == 2
    client.close()


def test_same_client_comes_back(service: Service) -> None:
    client = Client(service)
    client.send("add", value=2)
    for _ in range(5):
        client.reconnect()
    assert client.call("get")["value"] == 2
    client.close()


@pytest.mark.parametrize(
    ("token", "metadata", "code"),
    [
        ("0" * 32, {}, grpc.StatusCode.NOT_FOUND),
        ("", {"jitc_protocol": "9"}, grpc.StatusCode.FAILED_PRECONDITION),
        ("", {"jitc_protocol": str(PROTOCOL_VERSION), "jitc_results_received": "x"}, grpc.StatusCode.INVALID_ARGUMENT),
    ],
)
def test_stream_is_refused(service: Service, token: str, metadata: dict[str, str], code: grpc.StatusCode) -> None:
    client = Client(service)
    client.close_stream()
    with rpc.channel(client.reply.worker_socket) as link:
        got = refusal(stream, link, iter([]), token or client.reply.token, **metadata)
    assert got[0] is code, got
    client.reconnect()
    client.close()


def test_malformed_batch_ends_its_own_stream_only(service: Service) -> None:
    bad, good = Client(service), Client(service)
    bad.out.put(b"\xff not an op")
    with pytest.raises(grpc.RpcError) as caught:
        next(bad.replies)
    assert rpc.status_of(caught.value) == (grpc.StatusCode.INVALID_ARGUMENT, "malformed batch")
    good.send("add", value=4)
    assert good.call("get")["value"] == 4
    bad.reconnect()
    bad.send("add", value=1)
    assert bad.call("get")["value"] == 1
    bad.close()
    good.close()


def test_idle_worker_that_dies_is_replaced(service: Service) -> None:
    before = worker_of(service, 0)
    before.kill()
    wait_until(service, lambda: worker_of(service, 0) not in (None, before))
    assert service.registry.state_of(service.registry.gpus[0]) == "ready"
    client = Client(service)
    client.close()


def test_status_document(service: Service) -> None:
    client = Client(service, rank=1, world_size=2)
    document = json.loads(client.admin.Status(control_pb2.StatusRequest()).json)
    assert [gpu["index"] for gpu in document["gpus"]] == [0, 1]
    gpu = document["gpus"][0]
    keys = {"index", "device", "state", "worker_pid", "memory_used", "memory_total", "sessions", "recoveries"}
    assert keys <= gpu.keys()
    assert (gpu["device"], gpu["state"], gpu["recoveries"]) == ("software", "ready", 0)
    (session,) = gpu["sessions"]
    assert {
        "pid",
        "rank",
        "world_size",
        "boundary",
        "journal_bytes",
        "copies_bytes",
        "ops_executed",
        "boundary_phases",
    } <= session.keys()
    assert (session["pid"], session["rank"], session["world_size"]) == (os.getpid(), 1, 2)
    client.close()


@pytest.mark.parametrize(
    ("gpu", "fault", "code"),
    [
        (9, {"kind": "kill-worker"}, grpc.StatusCode.NOT_FOUND),
        (0, {"kind": "meteor"}, grpc.StatusCode.INVALID_ARGUMENT),
        (0, {"kind": "kill-worker", "phase": "lunch"}, grpc.StatusCode.INVALID_ARGUMENT),
        (0, {"kind": "kill-worker", "skip": 5}, grpc.StatusCode.INVALID_ARGUMENT),
        (0, {"kind": "kill-worker", "sequence": 5, "phase": "copy"}, grpc.StatusCode.INVALID_ARGUMENT),
        (0, {"kind": "kill-worker", "operations": 5, "armed_at_boundary": True}, grpc.StatusCode.INVALID_ARGUMENT),
    ],
)
def test_inject_is_refused(service: Service, gpu: int, fault: dict[str, Any], code: grpc.StatusCode) -> None:
    with rpc.channel(service.config.socket) as link:
        request = control_pb2.InjectRequest(gpu=gpu, fault=control_pb2.Fault(**fault))
        assert refusal(rpc.admin(link).Inject, request, timeout=10)[0] is code


def test_fault_waits_for_a_session(service: Service) -> None:
    with rpc.channel(service.config.socket) as link:
        fault = control_pb2.Fault(kind="kill-worker", operations=1)
        request = control_pb2.InjectRequest(gpu=0, fault=fault, wait_ms=15000)
        waiting = rpc.admin(link).Inject.future(request, timeout=20)
        client = Client(service)
        client.send("add", value=2)
        while not waiting.done():
            assert client.call("get")["value"] == 2
        assert waiting.result().fired
        (told,) = json.loads(rpc.admin(link).Report(control_pb2.ReportRequest(), timeout=10).json)["injected"]
        assert (told["gpu"], told["kind"], told["detail"]) == (0, "kill-worker", waiting.result().detail)
        client.close()


def test_socket_is_private_and_not_shared(service: Service) -> None:
    path = Path(service.config.socket)
    assert path.stat().st_mode & 0o777 == 0o600
    assert Path(f"{path}.d").stat().st_mode & 0o777 == 0o700
    with pytest.raises(SocketInUse, match="already serves"):
        Service(service.config)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
def test_other_user_is_refused(service: Service) -> None:
    path = Path(service.config.socket)
    for parent in path.parents:
        if parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o011)  # so that only the socket's own mode protects it
    program = f"import os, socket; os.setuid(65534); socket.socket(socket.AF_UNIX).connect({str(path)!r})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "PermissionError" in done.stderr, done.stderr


def test_stale_socket_is_replaced(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "s"))
    one = Service(config(tmp_path))
    one.stop()
    assert not list(tmp_path.iterdir())


def test_foreign_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("mine")
    with pytest.raises(SocketInUse, match="is no socket"):
        Service(config(tmp_path))
    assert (tmp_path / "s").read_text() == "mine"


def test_foreign_listener_is_left_alone(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(tmp_path / "s"))
        other.listen()
        with pytest.raises(SocketInUse, match="something else listens"):
            Service(config(tmp_path))
    assert (tmp_path / "s").exists()


def test_no_descriptor_is_leaked(service: Service) -> None:
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    Client(service).close()
    before = descriptors()
    for _ in range(5):
        Client(service).close()
    wait_until(service, lambda: descriptors() <= before + 2)  # a worker may just be starting


def test_a_service_that_was_stopped_has_no_descriptor_left(tmp_path: Path) -> None:
    left = []
    for name in ("first", "second", "third"):  # gRPC keeps some of its own from the first one on
        (tmp_path / name).mkdir()
        one = Service(config(tmp_path / name))
        one.start()
        with rpc.channel(one.config.socket) as link:
            rpc.node(link).Describe(control_pb2.DescribeRequest(protocol_version=PROTOCOL_VERSION), timeout=10)
        one.stop()
        left.append(len(os.listdir("/proc/self/fd")))
    assert left[1] == left[2]


def test_a_slot_of_the_board_is_free_only_when_its_worker_let_it_go(service: Service) -> None:
    """A slot that is given on too early would be cleared under its next session by the worker of the last one."""
    registry = service.registry
    request = control_pb2.AttachRequest(gpu=0, pid=os.getpid())
    first = registry.add(request)
    registry.remove(first)
    second = registry.add(request)
    assert second.slot != first.slot
    registry.free_slot(first)
    third = registry.add(request)
    assert third.slot == first.slot
    for one in (second, third):
        registry.remove(one)
        registry.free_slot(one)


def test_a_directory_that_the_last_service_takes_away_is_not_locked(tmp_path: Path) -> None:
    path, directory = str(tmp_path / "s"), tmp_path / "s.d"
    last, next_one = SocketLock(path, directory), SocketLock(path, directory)
    last.claim()
    with pytest.raises(SocketInUse):
        next_one.claim()
    last.release()
    next_one.claim()
    assert directory.is_dir()
    with pytest.raises(SocketInUse):
        last.claim()
    next_one.release()
    assert not directory.exists()
