"""Which of many tests run: tests/toolkit/share.py; `pytest --share` (`make test-share`), `--sample` and `--files`."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from toolkit.job import ROOT
from toolkit.share import Share

NAMES = [f"tests/end_to_end/test_faults.py::test_a_fault[{number}]" for number in range(800)]
FILES = 12
PROBE = """
import pytest
@pytest.mark.parametrize('at', range(40))
def test_it(at): pass
@pytest.mark.sampled
@pytest.mark.parametrize('at', range(40))
def test_one_of_many(at): pass
"""


def test_each_test_is_in_one_share_and_commits_come_round() -> None:
    shares = [[one for one in NAMES if Share.read(f"{commit}/20").has(one)] for commit in range(100, 120)]
    assert sorted(one for share in shares for one in share) == sorted(NAMES)
    assert min(map(len, shares)) >= 20  # of 40 on average
    assert Share.read("7/20") == Share.read("27/20") == (7, 20)


@pytest.mark.parametrize("text", ["", "3", "3/0", "-1/20", "a/20", "3/20/1", "3/"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is no share"):
        Share.read(text)


@pytest.fixture
def ran(tmp_path: Path) -> Callable[..., list[str]]:
    """The tests that pytest runs with these words; without any, those of the probe."""
    for number in range(FILES):
        (tmp_path / f"test_probe_{number}.py").write_text("def test_it(): pass")
    (tmp_path / "test_probe.py").write_text(PROBE)
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())

    def names(*options: str) -> list[str]:
        command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", "."]
        done = subprocess.run(
            [*command, *(options or ("test_probe.py",))], cwd=tmp_path, env={"PYTHONPATH": str(ROOT / "tests")},
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return [line.split()[0] for line in done.stdout.splitlines() if " PASSED" in line]

    return names


def test_pytest_runs_a_share(ran: Callable[..., list[str]]) -> None:
    everything = ran()
    shares = [ran("--share", f"{number}/3", "test_probe.py") for number in range(3)]
    assert len(everything) == 80 and all(shares)
    assert sorted(one for share in shares for one in share) == sorted(everything)


def test_a_sample_is_of_those_that_are_marked(ran: Callable[..., list[str]]) -> None:
    others = {f"test_probe.py::test_it[{at}]" for at in range(40)}
    samples = [set(ran("--sample", f"{number}/4", "test_probe.py")) for number in range(4)]
    assert set.intersection(*samples) == others
    assert all(len(others) < len(one) for one in samples)
    assert set.union(*samples) == set(ran())


def test_files_are_run_as_a_whole(ran: Callable[..., list[str]]) -> None:
    halves = [ran("--files", f"{number}/2", ".") for number in range(2)]
    files = [{one.partition("::")[0] for one in half} for half in halves]
    assert all(files) and not files[0] & files[1] and len(files[0] | files[1]) == FILES + 1
    assert sum(map(len, halves)) == FILES + len(ran())
