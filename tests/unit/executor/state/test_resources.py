"""Runs the cases of the native test program of the core's resource table (tests/unit/executor/state/native).

JITC_TEST_RESOURCES names another build of it, such as one with a sanitizer.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
PROGRAM = Path(os.environ.get("JITC_TEST_RESOURCES") or HERE.parents[3] / "build" / "tests" / "jitc_resources_test")
FILES = ("resources_test.cpp", "resource_limit_cases.cpp")
CASES = sorted(
    case for file in FILES for case in re.findall(r'^      \{"(\w+)",', (HERE / "native" / file).read_text(), re.M)
)


def test_the_program_has_the_cases_that_are_listed_here() -> None:
    listed = subprocess.run([PROGRAM, "--list"], capture_output=True, text=True, check=True).stdout.split()
    assert listed == CASES and len(listed) > 10


@pytest.mark.parametrize("case", CASES)
def test_case(case: str, tmp_path: Path) -> None:
    done = subprocess.run([PROGRAM, case, tmp_path], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
