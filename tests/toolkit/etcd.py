"""etcd for tests: one member or several, each in a node if the test has some.

Called by: tests of what keeps state in etcd. Promises: members are Debian's own program (3.4, 3.5 and later), on free
ports, with their data in the test's folder; all are healthy when the block begins, and have ended when it is left or
the test was killed. Tests ask members over HTTP, so that no client of etcd's is needed; over TLS, if the members have
certificates.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import platform
import shutil
import signal
import ssl
import subprocess
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .nodes import LoopbackNodes, Node
from .nodes.node import Address
from .ranks import free_port
from .waiting import patient, stop_process, until

START_SECONDS = 60.0
END_SECONDS = 30.0
#: For one answer. A member that has lost the others answers after 7 s that it cannot.
CALL_SECONDS = 15.0
#: For a member's answer about itself, which waits for no other.
STATUS_SECONDS = 2.0
_UNPACKED = Path(__file__).resolve().parents[2] / "build" / "etcd" / "usr" / "bin"


class EtcdError(Exception):
    """An answer that says no."""


def program() -> str | None:
    """Returns the machine's own etcd, or the one that scripts/system-packages.sh has unpacked."""
    return shutil.which("etcd", path=f"{os.environ['PATH']}:{_UNPACKED}")


def why_not() -> str:
    """Returns why there is no etcd here; empty: there is."""
    return "" if program() else "there is no etcd (scripts/system-packages.sh cluster)"


class Tls(NamedTuple):
    """Files in PEM; the certificate is each member's, and the test's own as a client. mutual: clients need one."""

    ca: Path
    certificate: Path
    key: Path
    mutual: bool = False

    def options(self) -> dict[str, str]:
        files = {"cert-file": str(self.certificate), "key-file": str(self.key)}
        return {**files, "trusted-ca-file": str(self.ca), "client-cert-auth": "true"} if self.mutual else files

    def context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.ca))
        context.load_cert_chain(self.certificate, self.key)
        return context


class Member:
    """One member, which `Etcd` has started."""

    def __init__(self, number: int, node: Node, folder: Path, tls: Tls | None, more: Mapping[str, str]) -> None:
        self.name, self.node = f"m{number}", node
        self._tls, self._more = tls, more
        self._data, self._log = folder / self.name, folder / f"{self.name}.log"
        #: Where clients reach it.
        self.client: Address = (node.address, free_port())
        self.peer: Address = (node.address, free_port())
        self.process: subprocess.Popen[str] | None = None

    def start(self, all_members: Sequence[Member], token: str) -> None:
        """Starts it with the data that it has, if it has some."""
        clients, peers = _url(self.client, self._tls), _url(self.peer)
        options = {
            **self._more,
            **(self._tls.options() if self._tls else {}),
            "name": self.name,
            "data-dir": str(self._data),
            "listen-client-urls": clients,
            "advertise-client-urls": clients,
            "listen-peer-urls": peers,
            "initial-advertise-peer-urls": peers,
            "initial-cluster": ",".join(f"{one.name}={_url(one.peer)}" for one in all_members),
            "initial-cluster-token": token,
        }
        words = [str(program()), *(f"--{name}={value}" for name, value in options.items())]
        with self._log.open("a") as log:
            self.process = self.node.start(words, env=_environment(), stdout=log, stderr=log)

    def wipe(self) -> None:
        assert self.process and self.process.poll() is not None, f"{self.name} still runs"
        shutil.rmtree(self._data)

    def healthy(self) -> bool:
        """Returns whether it knows a leader and can write."""
        assert self.process and self.process.poll() is None, f"{self.name} has ended: {self._log.read_text()[-2000:]}"
        with contextlib.suppress(OSError, EtcdError, http.client.HTTPException):
            return bool(self.get_document("/health").get("health") == "true")
        return False

    def get_document(self, path: str, seconds: float = CALL_SECONDS) -> dict[str, Any]:
        return self._ask("GET", path, None, seconds, self.node)

    def call(
        self, path: str, body: dict[str, Any], *, seconds: float = CALL_SECONDS, source: Node | None = None
    ) -> dict[str, Any]:
        """Calls the gateway, such as /v3/kv/range, from another node if one is named. Raises OSError, EtcdError."""
        return self._ask("POST", path, json.dumps(body), seconds, source or self.node)

    def put(self, key: str, value: str, seconds: float = CALL_SECONDS) -> None:
        self.call("/v3/kv/put", {"key": _encoded(key), "value": _encoded(value)}, seconds=seconds)

    def get(self, key: str, seconds: float = CALL_SECONDS, serializable: bool = False) -> str | None:
        """Returns the value; serializable: as far as this member knows, also if it has lost the others."""
        found = self.call("/v3/kv/range", {"key": _encoded(key), "serializable": serializable}, seconds=seconds)
        return base64.b64decode(found["kvs"][0]["value"]).decode() if found.get("kvs") else None

    def values(self, prefix: str) -> list[str]:
        """Returns the values of all keys that begin so."""
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        found = self.call("/v3/kv/range", {"key": _encoded(prefix), "range_end": _encoded(end)})
        return [base64.b64decode(one["value"]).decode() for one in found.get("kvs", [])]

    def term(self) -> int:
        """Returns the term for which it leads; 0: it does not lead, or does not answer."""
        if self.process is None or self.process.poll() is not None:
            return 0
        with contextlib.suppress(OSError, EtcdError, http.client.HTTPException):
            status = self.call("/v3/maintenance/status", {}, seconds=STATUS_SECONDS)
            return int(status["raftTerm"]) if status.get("leader") == status["header"]["member_id"] else 0
        return 0

    def _ask(self, method: str, path: str, body: str | None, seconds: float, source: Node) -> dict[str, Any]:
        connection = http.client.HTTPConnection(*self.client)
        with contextlib.closing(connection):
            connection.sock = source.connect(self.client, seconds)
            if self._tls:
                connection.sock = self._tls.context().wrap_socket(connection.sock, server_hostname=self.client[0])
            connection.request(method, path, body)
            answer = connection.getresponse()
            text = answer.read().decode()
        if answer.status != http.client.OK:
            raise EtcdError(f"{self.name}: {answer.status} {text.strip()}")
        found: dict[str, Any] = json.loads(text)
        return found


class Etcd:
    """A cluster of members; `etcd` makes it."""

    def __init__(self, folder: Path, nodes: Sequence[Node], tls: Tls | None, more: Mapping[str, str]) -> None:
        self._token = uuid.uuid4().hex
        self.members = [Member(number, node, folder, tls, more) for number, node in enumerate(nodes)]

    @property
    def endpoints(self) -> str:
        """Clients' addresses, as HOST:PORT with commas between."""
        return ",".join(f"{host}:{port}" for host, port in (one.client for one in self.members))

    def start(self, *members: Member) -> None:
        """Starts these, or all, and waits until they are healthy."""
        for one in members or self.members:
            one.start(self.members, self._token)
        for one in members or self.members:
            until(one.healthy, START_SECONDS, f"{one.name} is healthy")

    def leader(self) -> Member:
        """Returns who leads: of two that say so, the one that was elected later."""

        def found() -> Member | None:
            term, member = max(((one.term(), one) for one in self.members), key=lambda each: each[0])
            return member if term else None

        return until(found, START_SECONDS, "one member leads")

    def kill(self, member: Member) -> None:
        process = _running(member)
        process.kill()
        process.wait(patient(END_SECONDS))

    def stop(self, member: Member) -> None:
        """SIGSTOP: it answers nothing, and its connections stay."""
        stop_process(_running(member).pid)

    def cont(self, member: Member) -> None:
        _running(member).send_signal(signal.SIGCONT)

    def wipe(self, other: bool = False) -> None:
        """Kills all members and starts them without their data; other: as another cluster, with an identity of its
        own."""
        for one in self.members:
            self.kill(one)
            one.wipe()
        self._token = uuid.uuid4().hex if other else self._token
        self.start()

    def close(self) -> None:
        """Ends all members. What they have is of no use afterwards, so they are not asked to end."""
        for one in self.members:
            if one.process and one.process.poll() is None:
                self.kill(one)


@contextlib.contextmanager
def etcd(
    folder: Path,
    members: int = 1,
    nodes: Sequence[Node] | None = None,
    *,
    tls: Tls | None = None,
    options: Mapping[str, str] | None = None,
) -> Iterator[Etcd]:
    """Runs a cluster, its data and logs in the folder; nodes: one for each member, else they are on 127.0.0.N; options:
    more of etcd's, by name."""
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as ending:
        own = nodes if nodes is not None else list(ending.enter_context(LoopbackNodes(members)))
        assert len(own) == members, "a node for each member"
        cluster = Etcd(folder, own, tls, options or {})
        ending.callback(cluster.close)
        cluster.start()
        yield cluster


def _running(member: Member) -> subprocess.Popen[str]:
    assert member.process, f"{member.name} was not started"
    return member.process


def _environment() -> dict[str, str]:
    """Returns this one without settings of etcd's; 3.4 wants to be told that it may run elsewhere than on x86-64."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ETCD")}
    return {**kept, "ETCD_UNSUPPORTED_ARCH": "arm64"} if platform.machine() == "aarch64" else kept


def _url(address: Address, tls: Tls | None = None) -> str:
    return f"{'https' if tls else 'http'}://{address[0]}:{address[1]}"


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
