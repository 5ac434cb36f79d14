"""A program's variables for NVIDIA's libraries at the service: the client's data, and nothing else comes in."""

from __future__ import annotations

import re

import grpc
import pytest
from standin_client import Client, session_of
from toolkit.tree import ROOT

from jitc.proxy.node import library_environment as data
from jitc.proxy.node.library_environment import Refused, accepted, needs_own_worker
from jitc.proxy.node.workers.assign import assign_request
from jitc.proxy.service import Service


def test_the_clients_data_is_the_same() -> None:
    text = (ROOT / "protos/include/jitc/library_environment.h").read_text()

    def texts(name: str) -> list[str]:
        block = re.search(rf"{name}\[\] = (.*?);", text, re.DOTALL)
        assert block is not None
        return re.findall(r'"([^"]*)"', block[1])

    def number(name: str) -> int:
        found = re.search(rf"{name} = (\d+)", text)
        assert found is not None
        return int(found[1])

    assert texts("kPrefixes") == [*data.PREFIXES]
    assert texts("kNames") == [*data.NAMES] == sorted(data.NAMES)
    assert texts("kNever") == [*data.NEVER]
    assert texts("kNeverEndings") == [*data.NEVER_ENDINGS]
    assert texts("kDefaults") == [word for pair in data.DEFAULTS.items() for word in pair]
    limits = data.VARIABLES_MOST, data.NAME_MOST, data.VALUE_MOST, data.BYTES_MOST
    assert limits == tuple(map(number, ("kMostVariables", "kMostName", "kMostValue", "kMostBytes")))


def test_nothing_else_is_taken() -> None:
    good = {"NCCL_ALGO": "Ring", "CUDA_DEVICE_MAX_CONNECTIONS": "1"}
    names = (
        "LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT PATH PYTHONPATH PYTHONSTARTUP HOME JITC_SOCKET "
        "CUDA_VISIBLE_DEVICES GLIBC_TUNABLES CUDA_INJECTION64_PATH CUDA_CACHE_PATH "
        "NCCL_HOSTID NCCL_COMM_ID NCCL_NET_PLUGIN NCCL_CONF_FILE NCCL_CUDA_PATH"
    )
    assert accepted(good | dict.fromkeys(names.split(), "/tmp/x")) == good


@pytest.mark.parametrize(
    "sent",
    [
        {"NCCL_ALGO": "a\0b"}, {"NCCL_ALGO": "a\nb"}, {"NCCL_ALGO": "\x1b[2J"}, {"NCCL_ALGO": "\u202e"},
        {"NCCL_ALGO": "x" * 513}, {"NCCL_A=B": "x"}, {"NCCL_\0": "x"}, {"NCCL_" + "A" * 60: "x"}, {"": "x"},
        {"ld_preload": "x"}, {f"NCCL_{one}": "" for one in range(65)}, {f"NCCL_{one}": "x" * 500 for one in range(9)},
    ],
)  # fmt: skip
@pytest.mark.sampled
def test_what_no_client_sends_is_refused(sent: dict[str, str], service: Service) -> None:
    """It is the end of that call; the service has nothing of it."""
    with pytest.raises(Refused):
        accepted(sent)
    with pytest.raises(grpc.RpcError) as told:
        Client(service, environment=sent)
    assert told.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "environment variable" in told.value.details()
    assert not service.registry.sessions
    Client(service).close()


def test_a_device_without_libraries_takes_none(service: Service) -> None:
    """The worker that is kept warm serves such a program as any other."""
    idle = service.registry.gpus[0].idle
    client = Client(service, environment={"NCCL_ALGO": "Ring"})
    session = session_of(service, client)
    assert session.worker is idle and not session.environment
    client.close()


def test_the_services_own_wins(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCCL_ALGO", "Tree")
    assert not needs_own_worker({}) and not needs_own_worker({"NCCL_ALGO": "Tree"})
    assert needs_own_worker({"NCCL_ALGO": "Ring"}) and needs_own_worker({"NCCL_ALGO": "Tree", "NCCL_PROTO": ""})
    gpu, assignment = service.registry.gpus[0], service.registry.backend.assignment(0)
    object.__setattr__(assignment, "environment", {"NCCL_HOSTID": "ours"})
    monkeypatch.setattr(service.registry.backend, "assignment", lambda index, guest: assignment)
    request = assign_request(service.registry, gpu, variables={"NCCL_HOSTID": "theirs", "NCCL_ALGO": "Ring"})
    assert dict(request.environment) == {"NCCL_HOSTID": "ours", "NCCL_ALGO": "Ring"}
