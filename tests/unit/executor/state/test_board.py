"""The node's board, with more communicators and boundaries of a session than it has places for.

What a program hears of that: tests/unit/executor/checkpoint/test_pairing.py. JITC_TEST_BOARD names another build.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

PROGRAM = Path(
    os.environ.get("JITC_TEST_BOARD") or Path(__file__).resolve().parents[4] / "build" / "tests" / "jitc_board_test"
)
BYTES = 512 << 20


def test_places_are_used_up_and_given_back(tmp_path: Path) -> None:
    board = tmp_path / "board"
    with board.open("wb") as file:
        file.truncate(BYTES)  # sparse
    done = subprocess.run([PROGRAM, board], capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout) == (0, "")
