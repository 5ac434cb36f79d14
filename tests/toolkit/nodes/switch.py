"""The network between nodes of namespaces: a bridge in a network namespace of its own, with a port for each node.

All faults are made here, so nothing in a node looks different: a cut link still has its carrier, as if a switch further
away had failed. ARP always passes: nodes go on knowing each other's hardware addresses, and a cut is silence for as
long as it lasts.

Called by: namespaces.py. Needs iproute2 and nftables (the bridge family).
"""

from __future__ import annotations

import json
import os
import shutil
from typing import Any

from .faults import ANY, Faults
from .spaces import NETWORK, Holder, Spaces

#: A set has no more nodes; so many names are in their /etc/hosts.
MOST_NODES = 64
#: Lines of a shell: links that come later speak no IPv6, whose own packets would be counted among those that are lost.
QUIET = "{ echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6; } 2> /dev/null || :"
_BRIDGE, _TABLE = "switch", "faults"
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
#: Bytes that may pass at once: what is sent at this many Mbit/s in a timer's tick, or some of the largest pieces.
_BURST_BYTES = 65536
_TICK_BYTES = 1000


def tool(name: str) -> str:
    """Returns the path of a command of the system's. Raises FileNotFoundError."""
    if path := shutil.which(name, path=_PATH):
        return path
    raise FileNotFoundError(f"there is no {name} (scripts/system-packages.sh cluster)")


def address(number: int) -> str:
    return f"10.77.0.{number + 1}"


def hosts() -> str:
    """Returns an /etc/hosts with all nodes that there may be."""
    lines = ["127.0.0.1 localhost", "::1 localhost", *(f"{address(one)} n{one}" for one in range(MOST_NODES))]
    return "".join(f"{line}\n" for line in lines)


class Switch:
    """One switch. spaces: those of another process's switch, with the faults that it has."""

    def __init__(self, spaces: Spaces | None = None, faults: Faults | None = None, tied: bool = True) -> None:
        self.faults = faults or Faults()
        self._ip, self._nft, self._tc = (tool(name) for name in ("ip", "nft", "tc"))
        self._spaces = spaces or Spaces.make(NETWORK, QUIET, tied=tied)
        if not spaces:
            try:
                self._configure(self._spaces, f"link add {_BRIDGE} type bridge", f"link set {_BRIDGE} up")
                self.apply()
            except BaseException:
                self.end()
                raise
            self._spaces.release()

    @property
    def holder(self) -> Holder:
        return self._spaces.holder

    def plug(self, number: int, node: Spaces) -> None:
        """Connects a new node. One that comes back has the hardware address that others know."""
        port, pid = _port(number), node.holder.pid
        hardware = f"02:00:0a:4d:00:{number + 1:02x}"
        self._configure(
            self._spaces,
            f"link add {port} type veth peer name eth0 address {hardware} netns {pid}",
            f"link set {port} master {_BRIDGE} up",
        )
        self._configure(node, "link set lo up", f"addr add {address(number)}/24 dev eth0", "link set eth0 up")

    def unplug(self, number: int) -> None:
        """Takes the link of a node away with both its ends."""
        if _port(number) in self._ports():
            self._configure(self._spaces, f"link del {_port(number)}")

    def apply(self) -> None:
        """Makes the faults those that `faults` has, all at once; counts of what was lost begin anew."""
        lines = [_rule(source, target) for source, target in sorted(self.faults.cuts)]
        for number, percent in sorted(self.faults.losses.items()):
            lines += [_rule(number, ANY, percent), _rule(ANY, number, percent)]
        chain = ["chain forward {", "type filter hook forward priority 0", *lines, "}"]
        text = [f"add table bridge {_TABLE}", f"delete table bridge {_TABLE}", f"table bridge {_TABLE} {{", *chain, "}"]
        self._spaces.command(self._nft, "-f", "-", input="".join(f"{line}\n" for line in text))

    def limit(self, number: int, node: Spaces) -> None:
        """Makes the rate of a node's link what `faults` has, in each direction."""
        mbit = self.faults.rates.get(number)
        for spaces, device in ((self._spaces, _port(number)), (node, "eth0")):
            if mbit is not None:
                burst = max(_BURST_BYTES, mbit * _TICK_BYTES)
                shape = ("tbf", "rate", f"{mbit}mbit", "burst", f"{burst}", "latency", "50ms")
                spaces.command(self._tc, "qdisc", "replace", "dev", device, "root", *shape)
            elif self._queues(spaces, device, "tbf"):
                spaces.command(self._tc, "qdisc", "del", "dev", device, "root")

    def lost(self) -> int:
        """Returns how many packets faults have taken since one was changed last."""
        listed = json.loads(self._spaces.command(self._nft, "-j", "list", "table", "bridge", _TABLE))
        rules = [one["rule"]["expr"] for one in listed["nftables"] if "rule" in one]
        return sum(part["counter"]["packets"] for rule in rules for part in rule if "counter" in part)

    def held_back(self, number: int) -> int:
        """Returns how often a packet to the node had to wait for its link's rate."""
        return sum(int(one["overlimits"]) for one in self._queues(self._spaces, _port(number), "tbf"))

    def end(self) -> None:
        self._spaces.end()

    def _configure(self, spaces: Spaces, *lines: str) -> None:
        spaces.command(self._ip, "-batch", "-", input="".join(f"{line}\n" for line in lines))

    def _ports(self) -> set[str]:
        return {one["ifname"] for one in json.loads(self._spaces.command(self._ip, "-j", "link", "show"))}

    def _queues(self, spaces: Spaces, device: str, kind: str) -> list[dict[str, Any]]:
        listed = json.loads(spaces.command(self._tc, "-s", "-j", "qdisc", "show", "dev", device) or "[]")
        return [one for one in listed if one.get("kind") == kind]


def _port(number: int) -> str:
    return f"p{number}"


def _rule(source: int, target: int, percent: int = 100) -> str:
    words = [f'{end} "{_port(one)}"' for end, one in (("iifname", source), ("oifname", target)) if one != ANY]
    chance = f"numgen random mod 100 < {percent} " if percent < 100 else ""
    return f"{' '.join(words)} ether type != arp {chance}counter drop"
