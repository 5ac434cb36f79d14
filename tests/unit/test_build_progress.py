"""What the native build shows: how far it is, and the end of the output of one that fails."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from toolkit.tree import ROOT


def build(folder: Path, script: str) -> tuple[subprocess.CompletedProcess[str], str]:
    log = folder / "log"
    command = [sys.executable, str(ROOT / "scripts" / "build.py"), str(log), "sh", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return done, log.read_text()


def test_a_line_at_each_fifth_where_there_is_no_terminal(tmp_path: Path) -> None:
    done, log = build(tmp_path, 'for i in $(seq 20); do echo "[$i/20] Building"; done')
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split(",")[0].strip() for line in done.stdout.splitlines()] == [
        f"{4 * part} of 20 files" for part in range(1, 6)
    ]
    assert log.count("Building") == 20


def test_nothing_to_do_says_nothing(tmp_path: Path) -> None:
    done, log = build(tmp_path, "echo ninja: no work to do.")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert log == "ninja: no work to do.\n"


def test_the_end_of_a_failure_is_shown(tmp_path: Path) -> None:
    done, log = build(tmp_path, 'for i in $(seq 100); do echo "line $i" >&2; done; exit 3')
    assert done.returncode == 3
    assert done.stderr == "".join(f"line {number}\n" for number in range(41, 101))
    assert log.startswith("line 1\n")
