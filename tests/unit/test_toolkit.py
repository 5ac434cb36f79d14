"""The test toolkit notices what it is there to notice."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from toolkit import leaks
from toolkit import workplace as workplaces
from toolkit.job import RANKS, ROOT, Script, run_command
from toolkit.leaks import MARK, marked_processes, new_mark
from toolkit.native_program import NativeProgram, finish
from toolkit.record import Record, assert_close, assert_identical
from toolkit.waiting import until
from toolkit.workplace import Workplace

HASHES = (("data", "a"), ("weights", "b"))
ONE = Record(0, ((1.5).hex(), (0.25).hex()), HASHES)


def test_identical_accepts_the_same() -> None:
    assert_identical([ONE], [ONE])


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (Record(0, ((1.5).hex(), (0.25 + 2**-50).hex()), HASHES), "step 2"),
        (Record(0, ((1.5).hex(),), HASHES), "number of steps"),
        (Record(0, ONE.losses, (("data", "a"), ("weights", "x"))), "weights"),
        (Record(0, ONE.losses, (("data", "a"), ("loads", "b"))), "loads"),
        (Record(0, ONE.losses, ()), "nothing that could differ"),
    ],
)
def test_identical_names_the_difference(other: Record, what: str) -> None:
    with pytest.raises(AssertionError, match=what):
        assert_identical([other], [ONE])


def test_no_records_are_not_identical() -> None:
    with pytest.raises(AssertionError):
        assert_identical([], [])


def test_close_is_relative() -> None:
    near, far = (Record(0, (value.hex(), (0.25).hex()), HASHES) for value in (1.5 + 1e-5, 1.5 + 1e-4))
    assert_close([near], [ONE], 1e-5)
    with pytest.raises(AssertionError, match="step 1"):
        assert_close([far], [ONE], 1e-5)


def test_until_has_a_limit() -> None:
    with pytest.raises(AssertionError, match="pigs fly"):
        until(lambda: False, 0.05, "pigs fly")


def test_a_process_that_changed_its_parent_is_found() -> None:
    mark = new_mark()
    code = "import subprocess as s; print(s.Popen(['sleep', '60'], stdout=-3, stderr=-3).pid)"
    done = subprocess.run([sys.executable, "-c", code], env={MARK: mark}, check=True, capture_output=True, text=True)
    pid = int(done.stdout)
    # Its parent may go on before the kernel has put the new program's environment where /proc shows it.
    until(lambda: marked_processes(mark) == {pid: "sleep 60"}, 10, "the process is found")
    subprocess.run(["kill", str(pid)], check=True)
    until(lambda: not marked_processes(mark), 10, "the process ended")


def test_a_command_over_its_limit_ends_with_all_that_it_started() -> None:
    mark = new_mark()
    with pytest.raises(subprocess.TimeoutExpired):
        finish(["bash", "-c", "sleep 60 & wait"], 0.5, {**os.environ, MARK: mark})
    until(lambda: not marked_processes(mark), 10, "the processes ended")


def test_a_command_that_fails_says_why() -> None:
    with pytest.raises(AssertionError, match="no such luck"):
        finish(["bash", "-c", "echo no such luck >&2; exit 3"], 60)


def test_cases_of_a_native_program_are_those_of_its_sources(tmp_path: Path) -> None:
    (tmp_path / "some_cases.cpp").write_text("CASE(two) {\n}\nCASE(one) {\n  // CASE(three)\n}\n")
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "other_cases.cpp").write_text("CASE(four) {\n}\n")
    assert NativeProgram("none", tmp_path).cases() == ["four", "one", "two"]


#: What a rank says, in one write: others say something too.
SAYS = """import os, sys, threading
os.write(1, f"{os.getpid()} {os.environ['RANK']} {os.environ['WORLD_SIZE']}\\n".encode())
"""


def test_a_rank_that_fails_ends_the_others(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(f"{SAYS}sys.exit(3) if os.environ['RANK'] == '1' else threading.Event().wait()\n")
    command = [sys.executable, str(RANKS), "3", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    said = [line.split() for line in done.stdout.splitlines()]
    assert done.returncode == 1
    assert [where for _, *where in said if where[0] == "1"] == [["1", "3"]]
    assert re.fullmatch(r"rank 1 \(pid \d+\) ended with 3\n", done.stderr)
    assert not [pid for pid, *_ in said if Path(f"/proc/{pid}").exists()]


def test_ranks_end_with_what_started_them(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(f"{SAYS}threading.Event().wait()\n")
    command = [sys.executable, str(RANKS), "2", str(program)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as launcher:
        assert launcher.stdout
        said = [launcher.stdout.readline().split() for _ in range(2)]
        launcher.terminate()
        assert launcher.wait(60) == 128 + signal.SIGTERM
    assert sorted(rank for _, rank, _ in said) == ["0", "1"]
    assert not [pid for pid, *_ in said if Path(f"/proc/{pid}").exists()]


def test_evidence_of_a_failure_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(workplaces, "EVIDENCE", tmp_path)
    place = Workplace("failing")
    job = place.job(Script("no_such_script.py"), None)
    assert job.finish(60).status != 0
    place.note("a note")
    assert place.close(failed=True) == []
    kept = tmp_path / "failing"
    assert "no_such_script.py" in (kept / "job0" / "job.log").read_text()
    replay = (kept / "replay.txt").read_text()
    assert "a note" in replay
    assert "ranks.py 2" in replay
    assert not place.folder.exists()


def test_file_left_behind_is_a_complaint() -> None:
    place = Workplace("leaking")
    with tempfile.NamedTemporaryFile(dir="/dev/shm", prefix="jitc-test-leak-") as left:
        assert place.close(failed=False) == [f"file left: {left.name}"]
    kept = workplaces.EVIDENCE / "leaking"
    (kept / "replay.txt").unlink()
    kept.rmdir()


@contextlib.contextmanager
def somebody_uses(file: IO[Any]) -> Iterator[None]:
    """Another process has it open."""
    user = subprocess.Popen(["sleep", "60"], stdin=file)
    try:
        yield
    finally:
        user.kill()
        user.wait(10)


def test_a_file_that_somebody_else_uses_is_no_complaint() -> None:
    place = Workplace("beside")
    with tempfile.NamedTemporaryFile(dir="/dev/shm", prefix="jitc-test-beside-") as other, somebody_uses(other):
        assert place.close(failed=False) == []


def test_a_folder_in_which_somebody_else_uses_a_file_is_no_complaint() -> None:
    place = Workplace("beside")
    with (
        tempfile.TemporaryDirectory(dir="/var/tmp", prefix="jitc-test-beside-") as folder,
        (Path(folder) / "used").open("w") as other,
        somebody_uses(other),
    ):
        assert place.close(failed=False) == []


@pytest.mark.parametrize("name", ["/dev/shm/libpod_rootless_lock_4294967294", "/var/tmp/storage4294967294"])
def test_what_programs_beside_the_tests_leave_is_no_complaint(name: str) -> None:
    """Of a user that there is not, and a number that nobody draws."""
    place, left = Workplace("beside"), Path(name)
    left.touch()
    try:
        assert place.close(failed=False) == []
    finally:
        left.unlink()


def test_a_file_of_another_user_is_no_complaint(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.NamedTemporaryFile(dir="/dev/shm", prefix="jitc-test-beside-") as other:
        assert other.name in leaks.visible_files()
        monkeypatch.setattr(leaks.os, "getuid", lambda: -1)
        assert other.name not in leaks.visible_files()


def test_a_reference_does_not_count_against_the_limit_of_a_test(tmp_path: Path) -> None:
    """It has a limit of its own; that of the test goes on behind it."""
    (tmp_path / "test_probe.py").write_text(
        "import signal, pytest\nfrom toolkit.waiting import limit_suspended\n"
        "def left():\n    return signal.getitimer(signal.ITIMER_REAL)[0]\n"
        "@pytest.mark.timeout(50)\ndef test_reference():\n    before = left()\n"
        "    with limit_suspended():\n        assert left() == 0 < before\n"
        "    assert 0 < left() <= before\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", "."]
    done = run_command([*command, str(tmp_path)], {"PYTHONPATH": str(ROOT / "tests")})
    assert done.returncode == 0, done.stdout + done.stderr


def test_patience_makes_every_limit_longer(tmp_path: Path) -> None:
    """Of a condition that is never true, and of pytest's own limit for a test."""
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (tmp_path / "test_probe.py").write_text(
        "import pytest\nfrom toolkit.waiting import until\n"
        "@pytest.mark.timeout(7)\ndef test_limits(request):\n"
        "    assert request.node.get_closest_marker('timeout').args == (14.0,)\n"
        "    with pytest.raises(AssertionError, match='not within 0.2 s: it comes'):\n"
        "        until(lambda: False, 0.1, 'it comes')\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", "."]
    environment = {"PYTHONPATH": str(ROOT / "tests"), "JITC_TEST_PATIENCE": "2"}
    done = run_command([*command, "--timeout", "50", str(tmp_path)], environment)
    assert done.returncode == 0, done.stdout + done.stderr
