"""Workers that the kernel ends for want of memory: one replay, then the program's own error; nobody else's.

The files in which the kernel counts are made up here; tests/end_to_end/test_memory_of_a_container.py has real ones.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from standin_client import Client, wait_until

from jitc.ops.options.values import GIB
from jitc.proxy.common import host_memory
from jitc.proxy.node.workers.memory_kills import MemoryKills
from jitc.proxy.recovery.limits import OPS_OF_A_PLACE, Limits
from jitc.proxy.service import Service

OUT_OF_MEMORY = 2


@pytest.fixture
def events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """memory.events of the control group in which all are that begin from now on; it may have 3 GiB."""
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "self" / "cgroup").write_text("0::/pod\n")
    (tmp_path / "proc" / "meminfo").write_text(f"MemTotal: {64 * GIB >> 10} kB\nMemAvailable: {64 * GIB >> 10} kB\n")
    group = tmp_path / "cgroup" / "pod"
    group.mkdir(parents=True)
    (group / "memory.max").write_text(f"{3 * GIB}\n")
    (group / "memory.events").write_text("oom 3\noom_kill 0\n")
    monkeypatch.setattr(host_memory, "PROC", tmp_path / "proc")
    monkeypatch.setattr(host_memory, "CGROUPS", tmp_path / "cgroup")
    monkeypatch.setenv("JITC_TEST_MACHINE", str(tmp_path))  # for the workers
    return group / "memory.events"


def reports(service: Service, count: int) -> list[dict[str, object]]:
    wait_until(service, lambda: sum(one["attempts"] for one in service.own.recoveries()) >= count)
    return service.own.recoveries()


def test_once_is_replayed(events: Path, service: Service) -> None:
    client = Client(service)
    client.send("add", value=5)
    client.send("starve", file=str(events), times=1)
    assert client.call("get")["value"] == 5
    [found] = reports(service, 1)
    assert (found["cause"], found["outcome"]) == ("out-of-memory", "recovered")
    assert f"3.0 GiB: {events.with_name('memory.max')}" in str(found["message"])
    client.close()


def test_twice_is_the_programs_error(events: Path, service: Service, capfd: pytest.CaptureFixture[str]) -> None:
    neighbour, client = Client(service, 0), Client(service, 0)
    neighbour.send("add", value=3)
    client.send("add", value=5)
    client.send("boundary")
    client.send("starve", file=str(events), times=100)
    answer = client.call("get")
    assert answer["fault"] == OUT_OF_MEMORY
    assert "want of memory" in answer["message"] and str(events.parent) in answer["message"]
    found = reports(service, 2)
    assert {one["cause"] for one in found} == {"out-of-memory"}
    assert str(found[-1]["outcome"]).startswith("the program's own error")
    assert events.read_text().endswith("oom_kill 2\n"), "it was not tried a third time"
    assert neighbour.call("get")["value"] == 3
    assert "for want of memory" in capfd.readouterr().err
    client.close()
    neighbour.close()


def test_others_of_its_job_go_on(events: Path, service: Service) -> None:
    first, second = Client(service, 0), Client(service, 1)
    for rank, one in enumerate((first, second)):
        one.call("join", rank=rank)
    for one in (first, second):
        one.send("add", value=5)
        one.send("boundary")
    second.send("starve", file=str(events), times=100)
    assert second.call("get")["fault"] == OUT_OF_MEMORY
    assert first.call("get")["value"] == 5
    first.close()
    second.close()


def test_a_kill_that_is_no_want_of_memory(events: Path, service: Service) -> None:
    """Its count stays as it was."""
    client = Client(service)
    client.send("add", value=5)
    assert client.call("get")["value"] == 5
    [session] = service.registry.sessions.values()
    assert session.worker is not None
    os.kill(session.worker.pid, signal.SIGKILL)
    assert client.call("get")["value"] == 5
    assert [one["cause"] for one in reports(service, 1)] == ["worker-death"]
    client.close()


def test_each_count_explains_one_end(events: Path) -> None:
    kills = MemoryKills()
    for worker in (1, 2, 3, 4):
        kills.begin(worker, events)
    events.write_text("oom_kill 2\n")
    assert not kills.explains(1, killed=False)
    assert "worker 2" in kills.explains(2, killed=True)
    assert kills.explains(3, killed=True)
    assert not kills.explains(4, killed=True)
    assert not kills.explains(4, killed=True), "it is known no more"


def test_ends_of_other_processes_explain_none_later(events: Path) -> None:
    kills = MemoryKills()
    kills.begin(1, events)
    events.write_text("oom_kill 5\n")
    kills.round()
    kills.round()
    assert not kills.explains(1, killed=True)


def test_what_a_worker_is_counted_in(events: Path) -> None:
    """Its own group; without any, the machine."""
    processes, groups = host_memory.PROC, host_memory.CGROUPS
    assert host_memory.kills_file() == events
    (processes / "self" / "cgroup").write_text("5:memory:/a/b\n0::/\n")
    (groups / "memory" / "a" / "b").mkdir(parents=True)
    counted = groups / "memory" / "a" / "b" / "memory.oom_control"
    counted.write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 4\n")
    assert host_memory.kills_file() == counted
    assert host_memory.kills(counted) == 4
    (processes / "self" / "cgroup").unlink()
    (processes / "vmstat").write_text("nr_free_pages 3\noom_kill 9\n")
    assert host_memory.kills_file() == processes / "vmstat"
    assert host_memory.kills(processes / "vmstat") == 9


def test_a_place_is_passed_by_a_boundary_or_by_many_ops() -> None:
    limits = Limits()
    assert not limits.count_starved(1, (4, 100, 0))
    assert limits.count_starved(1, (4, 100 + OPS_OF_A_PLACE, 0))
    assert limits.count_starved(1, (4, 100, 0)), "and again: nothing has been passed"
    assert not limits.count_starved(1, (5, 100, 0))
    assert not limits.count_starved(1, (5, 101 + OPS_OF_A_PLACE, 0))
    assert limits.count_starved(1, (5, 102 + OPS_OF_A_PLACE, 0))
    assert not limits.count_starved(2, (0, 0, 0))
    limits.forget(1)
    assert not limits.count_starved(1, (5, 100, 0))
