"""`jitc store`: whom it serves, how it ends, and what it says instead of serving."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from toolkit.service import BIN
from toolkit.waiting import patient, until

from jitc.client_shim.native_parts import torch_build
from jitc.proxy.commands import jitc as cli

SECONDS = 60.0
#: Two clients of a store, one after the other, as torchrun's agents are.
CLIENTS = """
import sys
from datetime import timedelta
from torch.distributed import TCPStore
host, port = sys.argv[1], int(sys.argv[2])
for key in ("first", "second"):
    one = TCPStore(host, port, is_master=False, timeout=timedelta(seconds=60))
    one.set(key, key)
    del one
print(TCPStore(host, port, is_master=False, timeout=timedelta(seconds=60)).multi_get(["first", "second"]))
"""


class Store:
    """The command in a process of its own."""

    def __init__(self, folder: Path, host: str) -> None:
        self._notified = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._notified.bind(str(folder / "n"))
        self._notified.settimeout(patient(SECONDS))
        self.process = subprocess.Popen(
            [str(BIN / "jitc"), "store", "--listen", f"{host}:0"], text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "NOTIFY_SOCKET": str(folder / "n")},
        )  # fmt: skip

    def ready(self) -> tuple[str, int]:
        """Returns where it listens."""
        assert self.process.stdout is not None
        found = re.fullmatch(r"jitc store ready: (.+):(\d+)\n", self.process.stdout.readline())
        assert found and self.notified() == b"READY=1"
        return found[1], int(found[2])

    def notified(self) -> bytes:
        return self._notified.recv(100)

    def end(self, number: int) -> tuple[int, str, str]:
        self.process.send_signal(number)
        output, errors = self.process.communicate(timeout=patient(SECONDS))
        return self.process.returncode, output, errors

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        self._notified.close()


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    one = Store(tmp_path, getattr(request, "param", "127.0.0.1"))
    yield one
    one.close()


def refused(place: str, capsys: pytest.CaptureFixture[str], status: int = 1) -> str:
    """Returns the one line that says why there is no store."""
    assert cli.main(["store", "--listen", place]) == status
    said = capsys.readouterr()
    assert said.out == "" and len(said.err.splitlines()) == 1
    return said.err


@pytest.fixture(autouse=True)
def _signals_as_before() -> Iterator[None]:
    before = {one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGINT)}
    yield
    for one, handler in before.items():
        signal.signal(one, handler)


def test_it_keeps_what_clients_set_until_it_is_ended(store: Store) -> None:
    host, port = store.ready()
    assert host == "127.0.0.1"
    words = [sys.executable, "-c", CLIENTS, host, str(port)]
    done = subprocess.run(words, check=True, capture_output=True, text=True, timeout=patient(SECONDS))
    assert done.stdout == "[b'first', b'second']\n"
    assert store.end(signal.SIGTERM) == (0, "", "")
    assert store.notified() == b"STOPPING=1"


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize(
    "store",
    [
        "127.0.0.5",
        pytest.param("[::1]", marks=pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")),
    ],
    indirect=True,
)
def test_it_listens_at_its_address_alone(store: Store) -> None:
    host, port = store.ready()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), SECONDS)
    socket.create_connection((host.strip("[]"), port), SECONDS).close()
    assert store.end(signal.SIGINT) == (0, "", "")


def test_a_signal_before_it_is_ready_ends_it(store: Store) -> None:
    """Its handlers are there before PyTorch, whose loading takes seconds."""
    place = Path(f"/proc/{store.process.pid}/status")
    wanted = 1 << signal.SIGTERM - 1

    def caught() -> bool:
        line = next(one for one in place.read_text().splitlines() if one.startswith("SigCgt:"))
        return bool(int(line.split()[1], 16) & wanted)

    until(caught, SECONDS, "it handles SIGTERM")
    status, _, errors = store.end(signal.SIGTERM)
    assert (status, errors) == (0, "")


def test_an_address_at_which_it_cannot_listen(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        said = refused(f"127.0.0.1:{port}", capsys)
        assert f"another program listens at port {port}" in said and "choose another port" in said
    said = refused("192.0.2.77:29400", capsys)
    assert "this machine has no such address" in said and "0.0.0.0" in said
    said = refused("nobody.invalid:29400", capsys)
    assert "nobody.invalid" in said and "name an address of this machine" in said


@pytest.mark.parametrize("place", ["127.0.0.1", "127.0.0.1:65536", "::1:29400", ""])
def test_what_is_no_address(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["store", "--listen", place])
    said = capsys.readouterr().err
    assert ended.value.code == 2 and "is no address like 10.0.0.1:7431" in said and len(said.splitlines()) == 1


def test_without_pytorch(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as changed:
        changed.setattr(torch_build, "installed", lambda: None)
        assert "pip install 'jitc[torch]'" in refused("127.0.0.1:0", capsys)
    monkeypatch.setitem(sys.modules, "torch.distributed", None)
    assert "has no store" in refused("127.0.0.1:0", capsys)
