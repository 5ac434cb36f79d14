"""The service's own start and end, with jobs on it."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest
from toolkit.client import attach, detach
from toolkit.job import ROOT, Script, run_command
from toolkit.jobs import JOBS
from toolkit.leaks import marked_processes
from toolkit.record import Record, assert_identical, read_records
from toolkit.service import BIN, kill_at
from toolkit.waiting import patient, stop_process, until
from toolkit.workplace import Workplace

Reference = Callable[[Script, str], list[Record]]
#: Has a session, says so, and stays.
STRAY = """
import sys
from toolkit.client import attach
attach(sys.argv[1])
print("attached", flush=True)
sys.stdin.read()
"""


def test_sigterm_during_training_drains(workplace: Workplace, reference: Reference) -> None:
    """The job that runs is served to its end, faults included; new ones are refused; then the service ends."""
    expected = reference(JOBS["gpt"], "cuda")
    service = workplace.service(2)
    service.inject(kill_at(3, "backward"), 1)
    job = workplace.job(JOBS["gpt"], service)
    until(lambda: job.steps() >= 1 or job.process.poll() is not None, 90, "the first step")
    service.process.send_signal(signal.SIGTERM)

    def refused() -> bool:
        try:
            admitted = attach(service.socket, 0)
        except grpc.RpcError as error:
            return error.code() is grpc.StatusCode.FAILED_PRECONDITION
        detach(service.socket, admitted.token)  # before the signal was heard; it must not keep the service
        return False

    until(refused, 20, "new sessions are refused")
    result = job.finish().successful()
    assert service.process.wait(30) == 0
    assert_identical(result.records, expected)


def test_job_that_is_killed_leaves_nothing(workplace: Workplace) -> None:
    """SIGKILL of a whole job: its sessions end, the memory is free, the next job works."""
    service = workplace.service(2)
    first = workplace.job(JOBS["gpt"].with_arguments("--steps", "500"), service)
    until(lambda: first.steps() >= 2 or first.process.poll() is not None, 90, "two steps")
    first.kill()
    until(lambda: all(not gpu["sessions"] for gpu in service.status()["gpus"]), 30, "the sessions ended")
    assert [gpu["memory_used"] for gpu in service.status()["gpus"]] == [0, 0]
    workplace.run(JOBS["gpt"], service)


def test_run_with_a_private_service(workplace: Workplace, reference: Reference) -> None:
    """`jitc run`: output and exit status come through, nothing is left."""
    expected = reference(JOBS["gpt"], "cuda")
    folder = workplace.folder / "run"
    folder.mkdir()
    script = JOBS["gpt"].with_arguments("--json", str(folder / "record.json"))
    launcher = ["torchrun", "--standalone", "--nproc-per-node", "2", f"examples/{script.name}", *script.arguments]
    command = [str(BIN / "jitc"), "run", "--device", "software", "--gpus", "2", "--", *launcher]
    done = run_command(command, env=workplace.env, timeout=150)
    assert done.returncode == 0, done.stderr
    assert "step 5/5" in done.stdout
    assert_identical(read_records(folder), expected)


@pytest.mark.sampled
@pytest.mark.parametrize("status", [0, 3])
def test_run_passes_the_exit_status(status: int, workplace: Workplace) -> None:
    command = [str(BIN / "jitc"), "run", "--device", "software", "--gpus", "1", "--", "sh", "-c", f"exit {status}"]
    assert run_command(command, env=workplace.env, timeout=120).returncode == status


def children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@contextlib.contextmanager
def running(command: list[str], env: dict[str, str]) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process, and the first line that it prints."""
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as one:
        try:
            assert one.stdout is not None
            yield one, one.stdout.readline().rstrip("\n")
        finally:
            one.kill()


@pytest.mark.parametrize("stray", [False, True], ids=["alone", "with a stray process"])
def test_run_ends_a_service_that_is_stopped(stray: bool, workplace: Workplace) -> None:
    """SIGTERM does not reach it. Its keeper and its workers end too, also where another process has a session there;
    the exit status is the program's."""
    program = ["sh", "-c", 'echo "$JITC_SOCKET"; read line; exit 3']
    command = [str(BIN / "jitc"), "run", "--device", "software", "--gpus", "1", "--", *program]
    with contextlib.ExitStack() as begun:
        run, socket = begun.enter_context(running(command, workplace.env))
        mine = set[int]()
        if stray:
            env = workplace.env | {"PYTHONPATH": str(ROOT / "tests")}
            other, said = begun.enter_context(running([sys.executable, "-c", STRAY, socket], env))
            assert said == "attached"
            mine.add(other.pid)
        [parent, _] = children(run.pid)
        [service] = children(parent)
        stop_process(service)
        run.communicate("\n", timeout=patient(90))
        assert run.returncode == 3
        until(lambda: not marked_processes(workplace.mark).keys() - mine, 10, "service, keeper and workers have ended")
        assert not Path(socket).parent.exists()


def test_the_service_may_open_as_many_files_as_the_system_allows(workplace: Workplace) -> None:
    """A shell's soft limit is no bound on the number of programs."""
    service = workplace.service(1, before=("prlimit", "--nofile=200:3000"))
    sessions = [attach(service.socket) for _ in range(24)]
    limits = Path(f"/proc/{service.process.pid}/limits").read_text()
    assert re.search(r"Max open files\s+3000\s+3000", limits)
    for session in sessions:
        detach(service.socket, session.token)
