"""systemd's descriptor store, as the service speaks with it and is given back what it holds."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from toolkit.descriptor_store import DescriptorStore as Systemd
from toolkit.waiting import until

from jitc.proxy.commands.lifecycle import activation
from jitc.proxy.commands.lifecycle.systemd import descriptor_store

#: A service that is given descriptors: it says their names, what is in them, and what is left for a program after it.
GIVEN = """
import os
from jitc.proxy.commands.lifecycle import activation
found = activation.stored()
print({name: os.pread(one, 64, 0) for name, one in sorted(found.items())})
print([os.get_inheritable(one) for one in found.values()], os.environ["LISTEN_FDS"], activation.stored())
"""


@pytest.fixture
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Systemd]:
    one = Systemd(tmp_path)
    for name, value in one.env.items():
        monkeypatch.setenv(name, value)
    yield one
    one.close()


def file_of(content: bytes) -> int:
    descriptor = os.memfd_create("test")
    os.write(descriptor, content)
    return descriptor


def test_what_it_holds_comes_back(systemd: Systemd) -> None:
    """To the next service, by name and with its content; what was removed does not."""
    store = descriptor_store()
    assert store is not None
    files = [file_of(one) for one in (b"first", b"second", b"third")]
    for name, one in zip(("log", "u1000/1/journal", "board"), files, strict=True):
        store.put(name, one)
        store.put(name, one)  # it has it already
        os.close(one)
    store.remove("board")
    store.remove("unknown")
    expected = ["jitc/log", "jitc/u1000/1/journal"]
    until(lambda: systemd.names() == expected, 20, "systemd has heard")
    done = subprocess.run(
        [*systemd.before, sys.executable, "-c", GIVEN], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "{'log': b'first', 'u1000/1/journal': b'second'}",
        "[False, False] 0 {}",
    ]


def test_sockets_are_none_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """They come first, and stay where they are."""
    monkeypatch.setenv("LISTEN_PID", str(os.getpid()))
    monkeypatch.setenv("LISTEN_FDS", "1")
    monkeypatch.setenv("LISTEN_FDNAMES", "jitc-proxyd.socket")
    assert activation.stored() == {}
    assert os.environ["LISTEN_FDS"] == "1"


def test_without_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A unit that has no FileDescriptorStoreMax= is not asked: systemd would log a warning each time."""
    for address, most in (("", "8"), (str(tmp_path / "n"), ""), (str(tmp_path / "n"), "0"), (str(tmp_path / "n"), "x")):
        monkeypatch.setenv("NOTIFY_SOCKET", address)
        monkeypatch.setenv("FDSTORE", most)
        assert descriptor_store() is None
    monkeypatch.setenv("FDSTORE", "8")
    assert descriptor_store() is not None


def test_one_that_is_full_or_gone_is_told_of_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The service goes on: what is not held is only missed when its keeper dies with it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "n"))
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "n"))
        monkeypatch.setenv("FDSTORE", "2")
        store = descriptor_store()
        assert store is not None
        one = file_of(b"")
        for name in ("a", "b", "c", "d"):
            store.put(name, one)
        said = capfd.readouterr().err
        assert said.count("FileDescriptorStoreMax=2 is too small") == 1 and said.count("\n") == 1
        store.remove("a")
        store.put("c", one)  # there is room again
    for name in ("a", "b"):
        store.remove(name)
    said = capfd.readouterr().err
    assert "systemd's descriptor store" in said and said.count("\n") == 1
    os.close(one)
