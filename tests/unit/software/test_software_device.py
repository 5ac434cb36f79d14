"""Runs the cases of the native test program of the software device (tests/unit/software/native).

Each case is a process of its own; cases of collectives make further ones. ``JITC_SANITIZE`` (such as
``thread`` or ``address,undefined``) builds the program, and the device in it, with sanitizers.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from toolkit.native_program import TIMEOUT, NativeProgram, listed_cases, run_case

PROGRAM = NativeProgram("software-test", "jitc_software_test", Path(__file__).resolve().parent / "native")
pytestmark = TIMEOUT
SEED = os.environ.get("JITC_TEST_SHUFFLE", "1")


@pytest.fixture(scope="session")
def program() -> Path:
    return PROGRAM.build()


def test_program_has_the_cases_that_are_listed_here(program: Path) -> None:
    assert listed_cases(program) == PROGRAM.cases()
    assert len(PROGRAM.cases()) > 40


@pytest.mark.parametrize("case", PROGRAM.cases())
@pytest.mark.parametrize("shuffle", ["0", SEED])
def test_case(program: Path, shuffle: str, case: str) -> None:
    """shuffle: the seed of delays, which change nothing that the device promises; 0: none."""
    run_case(program, case, os.environ | {"JITC_TEST_SHUFFLE": shuffle})
