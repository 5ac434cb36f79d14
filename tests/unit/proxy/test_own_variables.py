"""Variables that processes of jitc have for themselves: gRPC prints little there, and programs do not get them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jitc.proxy.commands import run

#: A service of a node, to which somebody speaks who knows no TLS.
STRANGER = """
import socket, sys
from pathlib import Path
from jitc.proxy.cluster.peers.certificates import Authority
from jitc.proxy.cluster.peers.credentials import Credentials
from jitc.proxy.cluster.peers.server import PeerServer
authority = Authority(Path(sys.argv[1]))
authority.create()
server = PeerServer("127.0.0.1:0", Credentials(authority.add("n0")), {}.get, lambda server: None)
with socket.create_connection(("127.0.0.1", server.port)) as stranger:
    stranger.send(b"GET / HTTP/1.0\\r\\n\\r\\n")
    while stranger.recv(100):
        pass
server.stop()
"""
WHICH = """
import json, os
import jitc.proxy
print(json.dumps([os.environ.get("GRPC_VERBOSITY"), jitc.proxy.environment_of_programs().get("GRPC_VERBOSITY")]))
"""


def python(code: str, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("GRPC_")}
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        env=own | variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )


def test_grpc_prints_nothing_about_connections(tmp_path: Path) -> None:
    assert python(STRANGER, str(tmp_path / "quiet")).stderr == ""
    said = python(STRANGER, str(tmp_path / "loud"), GRPC_VERBOSITY="INFO").stderr
    assert "Handshake failed" in said, "whoever wants gRPC's lines has them"


def test_programs_have_what_the_user_has_given() -> None:
    assert python(WHICH).stdout.strip() == '["ERROR", null]'
    assert python(WHICH, GRPC_VERBOSITY="debug").stdout.strip() == '["debug", "debug"]'
    assert python(WHICH, GRPC_VERBOSITY="").stdout.strip() == '["", ""]'


def test_a_program_of_jitc_run_has_no_variable_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jitc.proxy._OWN", {"GRPC_VERBOSITY": "ERROR"})
    monkeypatch.setenv("GRPC_VERBOSITY", "ERROR")
    monkeypatch.setenv("MINE", "1")
    found = run.environment("/run/s", Path("/lib.so"))
    assert "GRPC_VERBOSITY" not in found and (found["MINE"], found["JITC_SOCKET"]) == ("1", "/run/s")
