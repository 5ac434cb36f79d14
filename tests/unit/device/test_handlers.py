"""Runs the cases of the native test program of the devices' registry of handlers, and of lines on standard error
(registry/)."""

from __future__ import annotations

from pathlib import Path

import pytest
from toolkit.native_program import TIMEOUT, NativeProgram, listed_cases, run_case

PROGRAM = NativeProgram("jitc_handlers_test", Path(__file__).resolve().parent / "registry")
pytestmark = TIMEOUT


@pytest.fixture(scope="session")
def program() -> Path:
    return PROGRAM.build()


def test_program_has_the_cases_that_are_listed_here(program: Path) -> None:
    assert listed_cases(program) == PROGRAM.cases()
    assert PROGRAM.cases()


@pytest.mark.parametrize("case", PROGRAM.cases())
def test_case(program: Path, case: str) -> None:
    run_case(program, case)
