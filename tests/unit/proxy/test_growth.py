"""A service that has seen many programs and many faults is as large as one that has seen few.

The real command in a process of its own; workers are stand-ins, since it is the service that is looked at.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest
from standin_client import PROXYD, Client
from toolkit.waiting import until

from jitc.proxy.common import rpc
from jitc.v1 import control_pb2

#: Seen before the first look: pools, caches and the allocator's arenas are filled by then.
WARM = 15
MEMORY = 4 << 20
#: Of a recovery: its report, of which the newest thousand are kept (20 KiB each, in three hundred recoveries).
REPORT = 32 << 10


@dataclass
class Size:
    descriptors: int
    mappings: int
    memory: int

    @classmethod
    def of(cls, pid: int) -> Size:
        folder = Path("/proc", str(pid))
        pages = int((folder / "statm").read_text().split()[1])
        descriptors, mappings = len(os.listdir(folder / "fd")), len((folder / "maps").read_text().splitlines())
        return cls(descriptors, mappings, pages * os.sysconf("SC_PAGE_SIZE"))


def children(pid: int) -> list[int]:
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for one in threads for child in one.read_text().split()]


class Command:
    """As much of a service as Client looks at."""

    def __init__(self, folder: Path) -> None:
        self.config = type("Config", (), {"socket": str(folder / "s")})()
        command = [*PROXYD, "--socket", self.config.socket]
        self.process = subprocess.Popen([*command, "--gpus", "1", "--spares", "2"], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        assert "ready" in self.process.stdout.readline()

    def sizes(self) -> list[Size]:
        """Of the service and its keeper, at rest: the GPU has its worker, nobody else has one."""
        until(self.at_rest, 30, "the service is at rest")
        return [Size.of(self.process.pid), *map(Size.of, children(self.process.pid))]

    def at_rest(self) -> bool:
        (keeper,) = children(self.process.pid)
        return len(children(keeper)) == 3

    def recoveries(self) -> int:
        with rpc.channel(self.config.socket) as link:
            return int(rpc.admin(link).Report(control_pb2.ReportRequest(), timeout=20).json.count('"outcome"'))


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Command]:
    one = Command(tmp_path)
    yield one
    one.process.terminate()
    assert one.process.wait(30) == 0
    assert one.process.stdout is not None
    one.process.stdout.close()


def program(command: Command) -> None:
    client = Client(command)  # type: ignore[arg-type]
    client.send("add", value=2)
    assert client.call("get")["value"] == 2
    client.close()


def check(earlier: list[Size], later: list[Size], memory: int = MEMORY) -> None:
    for before, after in zip(earlier, later, strict=True):
        assert after.descriptors - before.descriptors <= 4, (before, after)
        assert after.mappings - before.mappings <= 30, (before, after)
        assert after.memory - before.memory <= memory, (before, after)


@pytest.mark.parametrize("count", [30, pytest.param(500, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])])
def test_programs_in_a_row(command: Command, count: int) -> None:
    for _ in range(WARM):
        program(command)
    before = command.sizes()
    for _ in range(count):
        program(command)
    check(before, command.sizes())


@pytest.mark.parametrize("count", [20, pytest.param(200, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])])
def test_recoveries_of_one_session(command: Command, count: int) -> None:
    client = Client(command)  # type: ignore[arg-type]
    fault = control_pb2.InjectRequest(gpu=0, fault=control_pb2.Fault(kind="kill-worker"))

    def survive(number: int) -> None:
        client.send("add", value=1)
        client.send("boundary")
        assert client.call("get")["value"] == number
        client.admin.Inject(fault, timeout=30)
        client.send("add", value=0)
        assert client.call("get")["value"] == number
        until(lambda: command.recoveries() >= number, 30, "the recovery is over")

    for number in range(1, WARM + 1):
        survive(number)
    before = command.sizes()
    for number in range(WARM + 1, WARM + count + 1):
        survive(number)
    check(before, command.sizes(), MEMORY + count * REPORT)
    client.close()
    assert isinstance(client.link, grpc.Channel)
