"""Nodes of namespaces: each has a network, mounts, processes and a host name of its own.

/run, /dev/shm and /proc are the node's own, and /etc/hosts names all nodes; other files are those of the machine, at
the same paths. The first process of a node holds it: when that ends, which `kill` sees to, the kernel ends all others
of the node at once, also keepers and workers.

Called by: tests, through make_nodes or directly; command.py. Promises: all is gone with the process that made it,
however that ends, unless it was made to stay; nothing outside the namespaces has a name that another set could have.
Needs root, iproute2 and nftables.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

from .faults import Faults
from .node import Address, Node, Nodes
from .spaces import MOUNT, NETWORK, PID, UTS, Holder, Spaces
from .switch import MOST_NODES, QUIET, Switch, address, hosts, tool

T = TypeVar("T")
_KINDS = MOUNT | NETWORK | PID | UTS
#: What the first process does before it holds the node: its mounts, and the host name that is its first argument.
_SETUP = f"""
{QUIET}
mount --make-rprivate /
mount -t tmpfs -o mode=755 run /run
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t proc proc /proc
echo "$1" > /proc/sys/kernel/hostname
printf %s "$2" > /run/hosts
[ ! -e /etc/hosts ] || mount --bind /run/hosts /etc/hosts
"""


@cache
def why_not() -> str:
    """Returns why there are no nodes of namespaces here; empty: there are, since one was made and had faults."""
    if os.geteuid() != 0:
        return "only root can make nodes of namespaces"
    try:
        for one in ("setpriv", "mount"):
            tool(one)
        with NamespaceNodes(1) as nodes:
            nodes.cut(0)
            nodes.loss(0, 1)
            nodes.rate(0, 10)
    except OSError as error:
        return f"nodes of namespaces cannot be made here: {str(error).splitlines()[0]}"
    return ""


class NamespaceNode(Node):
    """A node whose first process is the holder of its namespaces."""

    def __init__(self, number: int, spaces: Spaces) -> None:
        super().__init__(number, address(number))
        self.spaces = spaces

    def end(self) -> None:
        """Ends all its processes. The first one ends last, when those that this process started are reaped."""
        self.alive = False
        self.spaces.kill()
        self._reap()
        self.spaces.end()

    def _call(self, function: Callable[..., T], *arguments: Any, **options: Any) -> T:
        return self.spaces.call(function, *arguments, **options)


class NamespaceNodes(Nodes):
    """A set of them and their switch. tied: it ends with this process; otherwise it stays until it is closed."""

    kind = "namespaces"
    _nodes: dict[int, NamespaceNode]

    def __init__(self, count: int = 0, *, tied: bool = True, switch: Switch | None = None) -> None:
        self._nodes, self._tied = {}, tied
        self.switch = switch or Switch(tied=tied)
        try:
            for _ in range(count):
                self.add()
        except BaseException:
            self.close()
            raise

    @classmethod
    def join(cls, switch: Holder, nodes: Mapping[int, Holder], faults: Faults) -> NamespaceNodes:
        """Returns a set that another process has made to stay, without nodes that have ended."""
        one = cls(tied=False, switch=Switch(Spaces.join(switch, NETWORK), faults))
        for number, holder in nodes.items():
            try:
                one._take(NamespaceNode(number, Spaces.join(holder, _KINDS)))
            except ProcessLookupError:
                continue
        return one

    def holders(self) -> dict[int, Holder]:
        """Returns the first process of each node that is alive."""
        return {one.number: one.spaces.holder for one in self._nodes.values() if one.alive}

    def add(self, number: int | None = None) -> Node:
        number = max(self._nodes, default=-1) + 1 if number is None else number
        if number in self.holders():
            raise ValueError(f"node {number} is alive")
        if not 0 <= number < MOST_NODES:
            raise ValueError(f"node {number}: there are at most {MOST_NODES}, from 0 on")
        if self.switch.faults.touch(number):
            self.heal(number)
        spaces = Spaces.make(_KINDS, _SETUP, f"n{number}", hosts(), tied=self._tied)
        try:
            self.switch.unplug(number)  # of one that ended by itself, the kernel may not have taken the link yet
            self.switch.plug(number, spaces)
        except BaseException:
            spaces.end()
            raise
        spaces.release()
        return self._take(NamespaceNode(number, spaces))

    def endpoint(self, source: int, target: int, port: int) -> Address:
        return self[target].address, port

    def cut(self, number: int, other: int | None = None) -> None:
        self._known(number, other)
        self.switch.faults.cut(number, other)
        self.switch.apply()

    def one_way(self, number: int, other: int | None = None) -> None:
        self._known(number, other)
        self.switch.faults.one_way(number, other)
        self.switch.apply()

    def heal(self, number: int) -> None:
        self.switch.faults.heal(number)
        self.switch.apply()
        if number in self.holders():
            self.switch.limit(number, self._nodes[number].spaces)

    def loss(self, number: int, percent: int) -> None:
        self._known(number)
        if not 0 <= percent <= 100:
            raise ValueError(f"a loss of {percent} %")
        self.switch.faults.losses[number] = percent
        self.switch.apply()

    def rate(self, number: int, mbit: int) -> None:
        self._known(number)
        if mbit < 1:
            raise ValueError(f"a rate of {mbit} Mbit/s")
        self.switch.faults.rates[number] = mbit
        self.switch.limit(number, self._nodes[number].spaces)

    def kill(self, number: int) -> None:
        """Takes the link first: otherwise the kernel, which lives on, would end the node's connections politely."""
        self._known(number)
        self.switch.unplug(number)
        self._nodes[number].end()

    def close(self) -> None:
        with contextlib.ExitStack() as ending:
            ending.callback(self.switch.end)
            for one in self._nodes.values():
                if one.alive:
                    ending.callback(one.end)

    def _take(self, node: NamespaceNode) -> NamespaceNode:
        self._nodes[node.number] = node
        return node

    def _known(self, *numbers: int | None) -> None:
        for one in numbers:
            if one is not None and one not in self.holders():
                raise ValueError(f"there is no node {one}; there are {sorted(self.holders())}")
