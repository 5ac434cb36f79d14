"""Processes known by descriptors, with the kernel's help and without it."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from jitc.proxy.node.workers import processes


@pytest.fixture(params=["pidfd", "without"])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> int:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    if request.param == "without":
        monkeypatch.setattr(os, "pidfd_open", missing)
        monkeypatch.setattr(signal, "pidfd_send_signal", missing)


@pytest.fixture
def child() -> Iterator[subprocess.Popen[str]]:
    """Ends when its standard input does."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


@pytest.mark.usefixtures("kernel")
def test_an_end_is_seen(child: subprocess.Popen[str]) -> None:
    descriptor = processes.open_process(child.pid)
    assert not processes.ended(descriptor)
    processes.send(descriptor, child.pid, signal.SIGTERM)
    assert processes.ends_within(descriptor, 20)
    assert processes.ended(descriptor)
    assert child.wait() == -signal.SIGTERM
    assert processes.ended(descriptor)
    os.close(descriptor)


@pytest.mark.usefixtures("kernel")
def test_a_child_that_has_ended_and_one_that_never_was(child: subprocess.Popen[str]) -> None:
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    descriptor = processes.open_process(child.pid)  # nobody has waited for it
    assert processes.ends_within(descriptor, 20)
    os.close(descriptor)
    child.wait()
    with pytest.raises(ProcessLookupError):
        processes.open_process(child.pid)


@pytest.mark.usefixtures("kernel")
def test_a_closed_descriptor_costs_nothing(child: subprocess.Popen[str]) -> None:
    before = {int(one) for one in os.listdir("/proc/self/fd")}
    os.close(processes.open_process(child.pid))
    for thread in [one for one in threading.enumerate() if one.name == "jitc-process"]:
        thread.join(20)
        assert not thread.is_alive()
    assert {int(one) for one in os.listdir("/proc/self/fd")} <= before
