"""The end of a session, and of the executor, while a thread of the session carries out an injected fault."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

BUILT = Path(__file__).parents[4] / "build" / "tests"
PROGRAM = Path(os.environ.get("JITC_TEST_TEARDOWN") or BUILT / "jitc_teardown_test")


@pytest.mark.parametrize("what", ["destroy", "close"])
def test_a_fault_that_fires_meanwhile(what: str) -> None:
    done = subprocess.run([PROGRAM, what], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
