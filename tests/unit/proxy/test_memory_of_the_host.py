"""How much memory the node has for copies and software GPUs: the machine's, or what a control group leaves of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jitc.ops.options.values import GIB, MIB, TIB
from jitc.proxy.backends.software import MEMORY, SoftwareBackend
from jitc.proxy.common import host_memory
from jitc.proxy.common.config import Config
from jitc.proxy.keeper.log import Log
from jitc.proxy.node.take_over import OtherOptions, note_options


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With 100 GiB to have, and no control groups."""
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "cgroup").mkdir()
    (tmp_path / "proc" / "meminfo").write_text(f"MemTotal: {200 * GIB >> 10} kB\nMemAvailable: {100 * GIB >> 10} kB\n")
    monkeypatch.setattr(host_memory, "PROC", tmp_path / "proc")
    monkeypatch.setattr(host_memory, "CGROUPS", tmp_path / "cgroup")
    return tmp_path


def group(folder: Path, **files: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(f"{content}\n")


def test_the_machine_s(machine: Path) -> None:
    assert host_memory.available() == 100 * GIB
    (machine / "proc" / "meminfo").unlink()
    assert host_memory.available() == 0


def test_a_control_group_s(machine: Path) -> None:
    (machine / "proc" / "self" / "cgroup").write_text("0::/pod/container\n")
    root = machine / "cgroup"
    group(root / "pod" / "container", memory__max="max", memory__current=GIB)
    assert host_memory.available() == 100 * GIB
    statistics = f"anon 5\ninactive_file {2 * GIB}"
    group(root / "pod", memory__max=10 * GIB, memory__current=4 * GIB, memory__stat=statistics)
    assert host_memory.available() == 8 * GIB  # of the group around it, whose unused pages of files can go
    group(root / "pod" / "container", memory__max=3 * GIB)
    assert host_memory.available() == 2 * GIB


def test_a_control_group_of_the_first_kind(machine: Path) -> None:
    (machine / "proc" / "self" / "cgroup").write_text("3:cpu,cpuacct:/a\n2:memory:/a\n")
    names = {"memory__limit_in_bytes": 6 * GIB, "memory__usage_in_bytes": GIB, "memory__stat": "total_inactive_file 0"}
    group(machine / "cgroup" / "memory" / "a", **names)
    assert host_memory.available() == 5 * GIB


@pytest.mark.parametrize("text", ["", "nonsense 5\nMemAvailable: many kB\n", "MemAvailable:\n"])
def test_what_cannot_be_read_does_not_count(machine: Path, text: str) -> None:
    (machine / "proc" / "meminfo").write_text(text)
    (machine / "proc" / "self" / "cgroup").write_text("0::/a\n")
    group(machine / "cgroup" / "a", memory__max="much", memory__current="")
    assert host_memory.available() == 0


def test_half_of_it_is_for_copies(machine: Path) -> None:
    def chosen(bytes: int) -> int:
        (machine / "proc" / "meminfo").write_text(f"MemAvailable: {bytes >> 10} kB\n")
        return note_options(Config("s"), Log.make(lambda descriptor: None)).snapshot_bytes

    assert chosen(100 * GIB) == 50 * GIB
    assert chosen(10 * MIB) == 64 * MIB
    assert chosen(8 * TIB) == TIB


def test_what_was_chosen_stays_for_the_jobs_that_run(machine: Path) -> None:
    log = Log.make(lambda descriptor: None)
    assert note_options(Config("s"), log).snapshot_bytes == 50 * GIB
    (machine / "proc" / "meminfo").write_text("MemAvailable: 0 kB\n")
    assert note_options(Config("s"), log).snapshot_bytes == 50 * GIB
    assert note_options(Config("s", snapshot_bytes=50 * GIB), log).snapshot_bytes == 50 * GIB
    with pytest.raises(OtherOptions, match="--copies-limit 50GiB, not 2GiB"):
        note_options(Config("s", snapshot_bytes=2 * GIB), log)


def memory(**options: Any) -> int:
    return SoftwareBackend(Config("s", **options)).gpus[0].memory_total


@pytest.mark.parametrize("kind", ["0::/pod/container", "2:memory:/pod/container"])
def test_a_software_gpu_has_its_share_of_a_container(machine: Path, kind: str) -> None:
    (machine / "proc" / "meminfo").write_text(f"MemTotal: {100 * GIB >> 10} kB\n")
    (machine / "proc" / "self" / "cgroup").write_text(f"{kind}\n")
    first = kind.startswith("2")
    root, name = machine / "cgroup" / ("memory" if first else ""), f"memory__{'limit_in_bytes' if first else 'max'}"
    none = 9223372036854771712 if first else "max"
    group(root / "pod" / "container", **{name: none})
    assert memory(gpus=2) == MEMORY and host_memory.limit() is None
    group(root / "pod", **{name: 6 * GIB})
    assert memory(gpus=2) == 6 * GIB // 4, "the group around it counts"
    group(root / "pod" / "container", **{name: 7 * GIB})
    assert memory(gpus=2) == 6 * GIB // 4, "the least of all counts"
    group(root / "pod" / "container", **{name: GIB})
    assert memory(gpus=2) == GIB // 4
    assert memory(gpus=1) == GIB // 2
    assert memory(gpus=64) == 32 * MIB, "no less than --memory-limit may be"


def test_who_asks_for_more_than_a_container_has_is_told(machine: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (machine / "proc" / "self" / "cgroup").write_text("0::/a\n")
    group(machine / "cgroup" / "a", memory__max=GIB)
    assert memory(gpus=2, memory_limit=GIB // 2) == GIB // 2
    assert capfd.readouterr().err == ""
    assert memory(gpus=2, memory_limit=GIB) == GIB
    said = capfd.readouterr().err
    assert said.count("\n") == 1
    assert (
        f"--memory-limit 1.0 GiB for 2 GPUs is more than the service's control group may have (1.0 GiB: {machine}"
        in said
    )


def test_a_gpu_keeps_its_memory_for_the_jobs_that_run(machine: Path) -> None:
    """The next service may find another limit of its container."""
    log = Log.make(lambda descriptor: None)
    assert note_options(Config("s"), log, gpu_memory=2 * GIB).memory_limit == 0
    assert note_options(Config("s"), log, gpu_memory=2 * GIB).memory_limit == 0
    assert note_options(Config("s"), log, gpu_memory=GIB).memory_limit == 2 * GIB


def test_workers_on_one_gpu_keep_their_shares_for_the_jobs_that_run(machine: Path) -> None:
    """The next service cannot measure what a context takes: the jobs' memory is in use."""
    log = Log.make(lambda descriptor: None)
    assert note_options(Config("s"), log, 2 * GIB, 7).worker_overhead is None
    assert note_options(Config("s"), log, 2 * GIB, 7).worker_overhead is None
    taken_over = note_options(Config("s"), log, GIB, GIB)
    assert (taken_over.worker_overhead, taken_over.memory_limit) == (7, 0)
