"""The checks of `jitc doctor` about the system and its limits: good here, and bad where something is taken away."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest
from doctor_rig import NOBODY, as_root, elsewhere, look, needs_mounts
from toolkit.sandbox import at_most, refusing

from jitc.proxy.commands.doctor import child, limits, system
from jitc.proxy.commands.doctor.check import BAD, GOOD, UNKNOWN, Context
from jitc.proxy.common import host_memory, paths

SOFTWARE = Context("software")


def mounted(mount: str, *folder: str) -> tuple[str, ...]:
    """Words before a command that has mounts of its own."""
    return "unshare", "-m", "sh", "-c", f'{mount} && exec "$@"', "sh", *folder


@pytest.mark.parametrize("name", ["glibc", "python", "processor", "memfd"])
def test_this_system_is_good(name: str) -> None:
    found = look("system", name, SOFTWARE)
    assert found.verdict == GOOD and not found.remedy, found


def test_an_old_glibc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "GLIBC", (9, 1))
    found = look("system", "glibc", SOFTWARE)
    assert found.verdict == BAD and "jitc needs glibc 9.1 or newer" in found.says and found.remedy


def test_an_old_python_and_another_processor() -> None:
    assert system.of_python((3, 9), "3.9.2").verdict == BAD
    assert system.of_python((3, 10), "3.10.0").verdict == GOOD
    assert system.of_processor("aarch64").verdict == BAD


def test_no_descriptor_is_left_for_memory() -> None:
    taken = [os.open(os.devnull, os.O_RDONLY)]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(taken) + 1, hard))
        while True:
            try:
                taken.append(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                break
        found = system.memfd(SOFTWARE)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for one in taken:
            os.close(one)
    assert found.verdict == BAD and "memfd_create does not work" in found.says


def test_pidfds_of_a_sandbox() -> None:
    found = elsewhere("system", "pidfd", *refusing("pidfd_open"))
    assert found.verdict in (GOOD, BAD) and "pidfd_open does not work (ENOSYS)" in found.says
    assert elsewhere("system", "pidfd", *refusing("pidfd_send_signal")).says.count("pidfd_send_signal: ENOSYS") == 1
    assert system.of_pidfds("ENOSYS", "").verdict == GOOD
    found = system.of_pidfds("ENOSYS", "ENOPROTOOPT")
    assert found.verdict == BAD and "SO_PEERPIDFD (ENOPROTOOPT)" in found.says


def test_the_layout_of_workers() -> None:
    assert elsewhere("system", "layout", device="cuda").verdict in (GOOD, UNKNOWN)
    refused = elsewhere("system", "layout", *refusing("personality"), device="cuda")
    assert refused.verdict == UNKNOWN and "has not been tried on a GPU" in refused.says
    found = elsewhere("system", "layout", *at_most("as", 1 << 40), *refusing("personality"), device="cuda")
    assert found.verdict == BAD and "(ulimit -v)" in found.says and "seccomp" in found.remedy


def test_a_filter_of_system_calls_is_seen() -> None:
    found = elsewhere("system", "seccomp", *refusing("personality", "pidfd_open"))
    assert found.verdict == UNKNOWN and "refused: pidfd_open, personality" in found.says
    found = elsewhere("system", "seccomp", *refusing("memfd_create"))
    assert found.verdict == BAD and "refused: memfd_create" in found.says, "sessions would have no memory"
    assert system.of_seccomp(0, []).verdict == GOOD
    assert "none of the calls" in system.of_seccomp(1, []).says


def test_a_debugger_that_cannot_look_at_workers(tmp_path: Path) -> None:
    """No part of jitc needs that, so it is nowhere bad."""
    assert look("system", "ptrace", SOFTWARE).verdict in (GOOD, UNKNOWN)
    found = elsewhere("system", "ptrace", *refusing("ptrace"))
    assert found.verdict == UNKNOWN and "gdb and py-spy on a worker are refused here (ENOSYS;" in found.says
    assert "nothing to do for jitc" in found.remedy
    (tmp_path / "scope").write_text("3\n")
    level = system._yama(tmp_path / "scope")
    assert level == "Yama's ptrace_scope is 3" and system._yama(tmp_path / "none") == "no limit by Yama"
    found = system.of_tracing("EPERM", level)
    assert found.verdict == UNKNOWN and "(EPERM; Yama's ptrace_scope is 3)" in found.says
    assert system.of_tracing("", level).verdict == GOOD


CRIU = """#!/bin/sh
case $1 in --version) echo "Version: 3.17.1";; check) {check};; esac
"""


@pytest.mark.parametrize(
    ("check", "verdict", "words"),
    [("exit 0", GOOD, "Version: 3.17.1"), ("echo 'needs root' >&2; exit 1", UNKNOWN, "`criu check`: needs root")],
)
def test_criu(check: str, verdict: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    (tmp_path / "criu").write_text(CRIU.format(check=check))
    (tmp_path / "criu").chmod(0o755)
    found = look("system", "criu", SOFTWARE)
    assert found.verdict == verdict and words in found.says and "no part of jitc uses it" in found.says
    (tmp_path / "criu").unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert look("system", "criu", SOFTWARE).verdict == UNKNOWN


def test_few_descriptors() -> None:
    found = elsewhere("limits", "descriptors", *at_most("nofile", 128))
    assert found.verdict == BAD and found.says.startswith("hard limit 128: room for 3 sessions")
    assert elsewhere("limits", "descriptors", *at_most("nofile", 1024)).verdict == GOOD


def test_little_locked_memory() -> None:
    found = elsewhere("limits", "locked memory", *at_most("memlock", 64 << 10), device="cuda")
    assert found.verdict == UNKNOWN and found.says.startswith("limit 64 KiB") and "memlock=-1" in found.remedy


@as_root
def test_few_processes_for_a_user() -> None:
    found = elsewhere("limits", "processes", *at_most("nproc", 300), user=NOBODY)
    assert found.verdict == BAD and "300 for this user (ulimit -u)" in found.says


def test_few_processes_in_a_container(tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "own").write_text("0::/outer/inner\n")
    for folder, most, used in ((inner, "max", "10"), (inner.parent, "1100", "100")):
        (folder / "pids.max").write_text(f"{most}\n")
        (folder / "pids.current").write_text(f"{used}\n")
    found = limits.of_processes(None, limits.tasks(tmp_path, tmp_path / "own"))
    assert found.verdict == BAD and "100 of 1100 in this control group" in found.says
    (inner.parent / "pids.max").write_text("5000\n")
    assert limits.of_processes(None, limits.tasks(tmp_path, tmp_path / "own")).verdict == GOOD
    assert limits.tasks(tmp_path, tmp_path / "none") is None


def test_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert look("limits", "memory", SOFTWARE).verdict == GOOD
    monkeypatch.setattr(host_memory, "PROC", tmp_path)
    assert look("limits", "memory", SOFTWARE).verdict == UNKNOWN
    (tmp_path / "meminfo").write_text("MemTotal: 8000000 kB\nMemAvailable: 90000 kB\n")
    found = look("limits", "memory", SOFTWARE)
    assert found.verdict == BAD and found.says.startswith("87 MiB available")
    assert "a container's limit counts, 1.0 GiB: /x" in limits.of_memory(4 << 30, "1.0 GiB: /x").says


@needs_mounts
@pytest.mark.parametrize(
    ("mount", "verdict", "words"),
    [
        ("mount -t tmpfs -o size=64m none /dev/shm", UNKNOWN, "64 MiB is a container's default"),
        ("mount -t tmpfs -o size=1m none /dev/shm && head -c 1000000 /dev/zero > /dev/shm/full", BAD, "0 MiB of 1 MiB"),
        ("mount -t tmpfs none /dev", BAD, "there is no /dev/shm"),
        ("mount -t tmpfs -o size=1g none /dev/shm", GOOD, "1.0 GiB of 1.0 GiB free"),
    ],
)
def test_the_folder_of_shared_memory(mount: str, verdict: str, words: str) -> None:
    found = elsewhere("limits", "/dev/shm", *mounted(mount))
    assert found.verdict == verdict and words in found.says, found


@needs_mounts
def test_a_folder_of_shared_memory_that_is_another_s() -> None:
    found = elsewhere("limits", "/dev/shm", *mounted("mount -t tmpfs -o mode=700 none /dev/shm"), user=NOBODY)
    assert found.verdict == BAD and "/dev/shm cannot be written to" in found.says


def test_a_check_that_raises_has_no_verdict() -> None:
    from jitc.proxy.commands.doctor import check

    def raises(_: Context) -> check.Finding:
        raise RuntimeError("two\nlines \x1b[31m")

    def fits(look: Callable[[Context], check.Finding | None]) -> check.Check:
        return check.Check("one", look)

    (one, two) = check.run([("a", [fits(raises), fits(lambda _: None), fits(lambda _: check.good("x"))])], SOFTWARE)
    assert one.finding.verdict == UNKNOWN and two.finding.verdict == GOOD
    assert one.finding.says == "this check failed: RuntimeError: two\\nlines \\x1b[31m"


@pytest.mark.parametrize("end", ["sleep 300", "exit 0"])
def test_what_a_process_started_does_not_stay(end: str, tmp_path: Path) -> None:
    """Its child has the pipes open, so that nothing but the child's end closes them."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(child.Slow):
        child.ran(["sh", "-c", f"sleep 300 3> {fifo} & {end}"], seconds=0.5)
    os.set_blocking(reader, True)
    assert os.read(reader, 1) == b"", "the end of all that write to it"
    os.close(reader)
