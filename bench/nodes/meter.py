"""What is counted beside a figure: load and processor time, calls of the store, bytes on the wire between nodes.

Called by: the parts of the benchmark. Promise: nothing that is measured is asked while it is counted; all is read from
the kernel's and etcd's own counters.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolkit.etcd import Member
    from toolkit.nodes import Node

TICKS = os.sysconf("SC_CLK_TCK")
CORES = len(os.sched_getaffinity(0))
#: Where other programs have more of the processors than this share, the machine is called busy.
BUSY = 0.2
#: In a row of /proc/stat: user, nice, system, interrupts of both kinds, and what other machines have taken.
_WORK = (0, 1, 2, 5, 6, 7)
#: etcd's counts of calls: requests that have one answer, and messages of streams.
_STARTED = re.compile(r"^grpc_server_started_total\{(.*)\} (\S+)$", re.MULTILINE)
_RECEIVED = re.compile(r"^grpc_server_msg_received_total\{(.*)\} (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True)
class Moment:
    """Times so far, in seconds: of the clock, of all processors together, and of each process of the benchmark."""

    clock: float
    machine: float
    own: Mapping[int, float]


def now(mark: str, others: tuple[int, ...] = ()) -> Moment:
    """mark: of the benchmark's processes; others: its processes that have none, and this one is counted too."""
    from toolkit.leaks import marked_processes

    pids = {*marked_processes(mark), *others, os.getpid()}
    return Moment(time.monotonic(), machine_seconds(Path("/proc/stat").read_text()), processes(pids))


def processes(pids: set[int]) -> dict[int, float]:
    found = {}
    for pid in pids:
        with contextlib.suppress(OSError):  # it has ended meanwhile
            found[pid] = process_seconds(Path(f"/proc/{pid}/stat").read_text())
    return found


def machine_seconds(text: str) -> float:
    fields = text.split("\n", 1)[0].split()[1:]
    return sum(int(fields[at]) for at in _WORK) / TICKS


def process_seconds(text: str) -> float:
    fields = text.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def spent(before: Moment, after: Moment) -> dict[str, Any]:
    """Returns what went by between them. A process that ended meanwhile, such as a killed worker, is not counted."""
    own = sum(seconds - before.own.get(pid, 0.0) for pid, seconds in after.own.items())
    wall, machine = after.clock - before.clock, after.machine - before.machine
    share = max(0.0, machine - own) / max(wall * CORES, 1e-9)
    return {
        "seconds": wall,
        "processor_seconds": own,
        "others_share": share,
        "load": os.getloadavg()[0],
        "busy_machine": share > BUSY,
    }


def told(one: Mapping[str, Any]) -> str:
    """Returns it as a line's end."""
    busy = ", busy machine" if one["busy_machine"] else ""
    return (
        f"processor time {one['processor_seconds']:.1f} s of {one['seconds']:.1f} s, others "
        f"{100 * one['others_share']:.0f} % of the machine, load {one['load']:.1f}{busy}"
    )


def wire_bytes(node: Node) -> int:
    """Returns the bytes that the node has sent and received so far, on its link."""
    return link_bytes(node.run(["cat", "/proc/net/dev"]).stdout)


def link_bytes(text: str, device: str = "eth0") -> int:
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        if name.strip() == device:
            fields = rest.split()
            return int(fields[0]) + int(fields[8])
    raise ValueError(f"there is no {device} in {text!r}")


def store_calls(members: list[Member]) -> dict[str, int]:
    """Returns the calls that all members together have served so far, by name."""
    calls: dict[str, int] = {}
    for one in members:
        for name, count in counted(metrics(one)).items():
            calls[name] = calls.get(name, 0) + count
    return calls


def metrics(member: Member) -> str:
    connection = http.client.HTTPConnection(*member.client)
    with contextlib.closing(connection):
        connection.sock = member.node.connect(member.client)
        connection.request("GET", "/metrics")
        return connection.getresponse().read().decode()


def counted(text: str) -> dict[str, int]:
    """Returns the calls by their names: each request, and each message of a stream."""
    calls: dict[str, int] = {}
    for pattern, streams in ((_STARTED, False), (_RECEIVED, True)):
        for labels, count in pattern.findall(text):
            each = dict(_LABEL.findall(labels))
            if (each.get("grpc_type") != "unary") == streams and float(count):
                calls[each["grpc_method"]] = calls.get(each["grpc_method"], 0) + int(float(count))
    return calls


def more(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """Returns what was added, without names to which nothing was."""
    added = {name: count - before.get(name, 0) for name, count in after.items()}
    return {name: count for name, count in added.items() if count}
