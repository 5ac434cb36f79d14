"""No room for shared memory or spilled journals: the program that asks is refused with the reason, nobody else notices,
and nothing stays behind of what was made before there was no more room."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import grpc
import pytest
from standin_client import Client

from jitc.proxy.common import rpc, shared_memory
from jitc.proxy.common.shared_memory import NoSpace, shared, spill_file
from jitc.proxy.service import Service


def held(service: Service) -> list[int]:
    """How much this process and the keeper hold."""
    folders = ("/proc/self/fd", f"/proc/{service.keeper.pid}/fd")
    return [sum(_memory(Path(folder, one)) for one in os.listdir(folder)) for folder in folders]


def _memory(descriptor: Path) -> bool:
    try:
        name = os.readlink(descriptor)
    except FileNotFoundError:  # that of the listing itself
        return False
    return name.startswith(("/memfd:jitc-", "/var/tmp/"))


def refuse_at(monkeypatch: pytest.MonkeyPatch, function: str, call: int, number: int) -> None:
    """The function fails at this call of it, from now on."""
    real, calls = getattr(os, function), 0

    def failing(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls >= call:
            raise OSError(number, os.strerror(number))
        return real(*arguments)

    monkeypatch.setattr(shared_memory.os, function, failing)


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (("memfd_create", 1, errno.EMFILE), "no shared memory for journal: Too many open files"),
        (("memfd_create", 3, errno.ENFILE), "no shared memory for pinned: Too many open files in system"),
        (("ftruncate", 1, errno.ENOSPC), "of room for journal: No space left on device"),
        (("ftruncate", 2, errno.ENOMEM), "of room for snapshot: Cannot allocate memory"),
        (("ftruncate", 3, errno.EFBIG), "of room for spilled journals in /var/tmp: File too large"),
    ],
)
@pytest.mark.sampled
def test_a_program_is_refused(
    failure: tuple[str, int, int], words: str, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Client(service)
    first.send("add", value=2)
    before = held(service)
    with monkeypatch.context() as during:
        refuse_at(during, *failure)
        with pytest.raises(grpc.RpcError) as refused:
            Client(service, gpu=1)
    code, text = rpc.status_of(refused.value)
    assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert words in text
    assert held(service) == before
    assert first.call("get")["value"] == 2
    second = Client(service, gpu=1)
    second.send("add", value=3)
    assert second.call("get")["value"] == 3
    first.close()
    second.close()


def test_no_folder_for_spilled_journals(tmp_path: Path) -> None:
    with pytest.raises(NoSpace, match="choose another with --spill-dir"):
        spill_file(str(tmp_path / "missing"), 4096)


def test_the_keeper_is_gone(service: Service) -> None:
    memory = shared("journal", 4096)
    service.keeper.process.kill()  # type: ignore[union-attr]
    service.keeper.process.wait()  # type: ignore[union-attr]
    with pytest.raises(NoSpace, match="jitc-keeper has ended"):
        memory.keep("journal", service.keeper)
    memory.close()
