"""What tests use of nodes, whatever they are made of.

Called by: tests; namespaces.py and loopback.py fill it in. Promises: a process that `start` returns is the program
itself, so that its number and signals are those that count; it has 0, 1 and 2 open and nothing else; a killed node has
no process, and none of its packets leaves it any more.
"""

from __future__ import annotations

import abc
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

from ..waiting import patient

T = TypeVar("T")
Set = TypeVar("Set", bound="Nodes")
Address = tuple[str, int]
RUN_SECONDS = 60.0
CONNECT_SECONDS = 10.0
#: After SIGKILL, until a process has ended.
END_SECONDS = 30.0


class Unsupported(Exception):
    """Nodes of this kind cannot have that."""


class Node(abc.ABC):
    """One node. It is alive until it is killed."""

    def __init__(self, number: int, address: str) -> None:
        self.number, self.name, self.address = number, f"n{number}", address
        self.alive = True
        self._started: list[subprocess.Popen[str]] = []

    @abc.abstractmethod
    def _call(self, function: Callable[..., T], *arguments: Any, **options: Any) -> T:
        """Calls the function where the node's processes and sockets are made."""

    def _command(self, words: Sequence[str], options: dict[str, Any]) -> list[str]:
        """Returns the words that are really started; may change Popen's options."""
        return list(words)

    def start(self, words: Sequence[str], **options: Any) -> subprocess.Popen[str]:
        """Starts a program in this folder; options: Popen's. Output goes nowhere unless these say otherwise.

        An image of the process can be made only if what it is given are pipes: a file of the test's lies outside.
        """
        assert self.alive, f"{self.name} was killed"
        nowhere = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        options = {**nowhere, "text": True, "cwd": os.getcwd(), "start_new_session": True, **options}
        words = self._command(words, options)
        process: subprocess.Popen[str] = self._call(subprocess.Popen, words, **options)
        self._started = [one for one in self._started if one.returncode is None] + [process]
        return process

    def run(
        self, words: Sequence[str], *, input: str = "", seconds: float = RUN_SECONDS, check: bool = True, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command to its end. Over the limit it ends with all of its group; subprocess.TimeoutExpired."""
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        process = self.start(words, **{**pipes, **options})
        try:
            output, errors = process.communicate(input, patient(seconds))
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        assert not check or process.returncode == 0, f"{self.name}: {' '.join(words)}: {output}{errors}"
        return subprocess.CompletedProcess(words, process.returncode, output, errors)

    def open_socket(self, kind: socket.SocketKind = socket.SOCK_STREAM) -> socket.socket:
        """Returns a socket of the test's that is in the node's network."""
        return self._call(socket.socket, socket.AF_INET, kind)

    def listen(self, port: int = 0) -> socket.socket:
        one = self.open_socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind((self.address, port))
        one.listen()
        return one

    def connect(self, address: Address, seconds: float = CONNECT_SECONDS) -> socket.socket:
        """Connects from this node. Raises OSError, TimeoutError if there is no answer within so long."""
        one = self.open_socket()
        try:
            one.settimeout(patient(seconds))
            one.connect(address)
        except BaseException:
            one.close()
            raise
        return one

    def _reap(self) -> None:
        for one in self._started:
            one.wait(patient(END_SECONDS))


class Nodes(abc.ABC):
    """A set of nodes with a network between them, numbered from 0; a context manager that closes it."""

    #: "namespaces" or "loopback".
    kind: str
    _nodes: Mapping[int, Node]

    def __getitem__(self, number: int) -> Node:
        return self._nodes[number]

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes.values())

    def __len__(self) -> int:
        return len(self._nodes)

    def __enter__(self: Set) -> Set:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @abc.abstractmethod
    def add(self, number: int | None = None) -> Node:
        """Adds a node; number: that of a killed one, which comes back with its name and address and nothing else."""

    @abc.abstractmethod
    def endpoint(self, source: int, target: int, port: int) -> Address:
        """Returns where a program in source reaches the port of target, at which something listens or will."""

    @abc.abstractmethod
    def cut(self, number: int, other: int | None = None) -> None:
        """Loses all between the node and the other one, or all others: a new connection is not made, others stall."""

    @abc.abstractmethod
    def one_way(self, number: int, other: int | None = None) -> None:
        """Loses what the node sends to the other one, or to all others; what they send still arrives."""

    @abc.abstractmethod
    def heal(self, number: int) -> None:
        """Ends all faults at the node."""

    @abc.abstractmethod
    def kill(self, number: int) -> None:
        """Takes the node away, as a power cut would: others hear nothing more of it, also not that connections end."""

    @abc.abstractmethod
    def close(self) -> None:
        """Ends every process, and takes all away. May be called again."""

    def loss(self, number: int, percent: int) -> None:
        """Loses so many of the packets to and from the node."""
        raise Unsupported(f"nodes of {self.kind} lose no packets")

    def rate(self, number: int, mbit: int) -> None:
        """Limits the node's link to so many Mbit/s in each direction."""
        raise Unsupported(f"nodes of {self.kind} have no rate")

    def delay(self, number: int, seconds: float) -> None:
        """Lets what goes to and from the node take so much longer, each way."""
        raise Unsupported(f"nodes of {self.kind} cannot delay packets: this needs netem, which not every kernel has")

    def drop(self, number: int) -> None:
        """Resets all connections between the node and others."""
        raise Unsupported(f"nodes of {self.kind} cannot reset connections")
