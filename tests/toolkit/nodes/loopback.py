"""Nodes where namespaces are not allowed: a node is an address 127.0.0.N and the processes that were started in it.

Between nodes there is a link (links.py) for each port that `endpoint` is asked for; a program that connects past it is
not hit by any fault. Files, host name and process numbers are those of the machine.

Called by: tests, through make_nodes or directly. Promises: the processes end with the one that started them; what they
started in turn is ended by `kill`, `close`, or the next set that is made here.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from ..waiting import until
from .faults import Faults
from .links import Direction, Link, Links
from .node import END_SECONDS, Address, Node, Nodes
from .spaces import TIED, Holder, identity, is_alive

T = TypeVar("T")
#: In the environment of a node's processes: number and start of the process that made the node, and which node.
MARK = "JITC_TEST_NODE"
_FIRST = 11
_sets = itertools.count()


class LoopbackNode(Node):
    """A node whose processes are known by a mark in their environment, which children inherit."""

    def __init__(self, number: int, mark: str, thread: ThreadPoolExecutor) -> None:
        super().__init__(number, f"127.0.0.{_FIRST + number}")
        self._mark, self._thread = mark, thread

    def end(self) -> None:
        """Ends all its processes. One that has just been started may show no mark yet; others are found by it."""
        self.alive = False
        for one in self._started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(one.pid, signal.SIGKILL)
        self._reap()
        until(lambda: not _kill(lambda mark: mark == self._mark), END_SECONDS, f"{self.name} has no process")

    def _call(self, function: Callable[..., T], *arguments: Any, **options: Any) -> T:
        return self._thread.submit(function, *arguments, **options).result()

    def _command(self, words: Sequence[str], options: dict[str, Any]) -> list[str]:
        options["env"] = {**(options.get("env") or os.environ), MARK: self._mark}
        return [*TIED, *words]


class LoopbackNodes(Nodes):
    """A set of them."""

    kind = "loopback"
    _nodes: dict[int, LoopbackNode]

    def __init__(self, count: int = 0) -> None:
        sweep()
        self._nodes = {}
        #: Lives as long as the set: a process that is tied ends with the thread that started it.
        self._thread = ThreadPoolExecutor(1)
        maker = identity(os.getpid())
        assert maker
        self._mark = f"{maker.pid}-{maker.start}-{next(_sets)}"
        self._faults = Faults()
        self._links = Links()
        self._between: dict[tuple[int, int, int], Link] = {}
        for _ in range(count):
            self.add()

    def add(self, number: int | None = None) -> Node:
        number = max(self._nodes, default=-1) + 1 if number is None else number
        if number in self._nodes and self[number].alive:
            raise ValueError(f"node {number} is alive")
        self.heal(number)
        node = LoopbackNode(number, f"{self._mark}-{number}", self._thread)
        self._nodes[number] = node
        return node

    def endpoint(self, source: int, target: int, port: int) -> Address:
        if source == target:
            return self[target].address, port
        key = source, target, port
        if key not in self._between:
            self._between[key] = self._links.open((self[target].address, port))
            self._apply()
        return self._between[key].address

    def cut(self, number: int, other: int | None = None) -> None:
        self._faults.cut(number, other)
        self._apply()

    def one_way(self, number: int, other: int | None = None) -> None:
        self._faults.one_way(number, other)
        self._apply()

    def delay(self, number: int, seconds: float) -> None:
        self._faults.delays[number] = seconds
        self._apply()

    def drop(self, number: int) -> None:
        for (source, target, _), link in self._between.items():
            if number in (source, target):
                link.drop()

    def heal(self, number: int) -> None:
        self._faults.heal(number)
        self._apply()

    def kill(self, number: int) -> None:
        """Cuts its links first: otherwise others would hear that connections end."""
        self.cut(number)
        self._nodes[number].end()

    def close(self) -> None:
        with contextlib.ExitStack() as ending:
            ending.callback(self._thread.shutdown)
            ending.callback(self._links.close)
            for one in self._nodes.values():
                if one.alive:
                    ending.callback(one.end)

    def _apply(self) -> None:
        for (source, target, _), link in self._between.items():
            ways = ((Direction.FORTH, source, target), (Direction.BACK, target, source))
            stopped = [direction for direction, start, end in ways if self._faults.is_cut(start, end)]
            link.impose(stopped, self._faults.delay(source, target))


def sweep() -> None:
    """Ends what nodes of loopback still have whose maker has ended."""

    def is_left(mark: str) -> bool:
        pid, start, *_ = mark.split("-")
        return not is_alive(Holder(int(pid), int(start)))

    until(lambda: not _kill(is_left), END_SECONDS, "processes of earlier tests have ended")


def _kill(which: Callable[[str], bool]) -> int:
    """Kills the processes with such a mark. Returns how many there were."""
    found = [pid for pid, mark in _marked() if which(mark)]
    for one in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)
    return len(found)


def _marked() -> Iterator[tuple[int, str]]:
    """Returns processes (no zombies) with their mark."""
    start = f"{MARK}=".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):  # it ended meanwhile, or is another user's
            variables = (entry / "environ").read_bytes().split(b"\0")
            if mark := next((one for one in variables if one.startswith(start)), b""):
                yield int(entry.name), mark.removeprefix(start).decode()
