"""Runs the cases of the native test program of the bridge (tests/unit/bridge/native): links, slots of the board, ranks
of the software device on several nodes, NCCL's bootstrap, and bytes that no bridge would send.

Each case is a process of its own. Collectives of both devices over nodes are also those of tests/unit/device, which run
there once more with their ranks on several nodes.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from toolkit.native_program import TIMEOUT, NativeProgram, listed_cases, run_case

PROGRAM = NativeProgram("jitc_bridge_test", Path(__file__).resolve().parent / "native")
pytestmark = TIMEOUT


@pytest.fixture(scope="session")
def program() -> Path:
    return PROGRAM.build()


def test_program_has_the_cases_that_are_listed_here(program: Path) -> None:
    assert listed_cases(program) == PROGRAM.cases()
    assert len(PROGRAM.cases()) > 40


@pytest.mark.parametrize("case", PROGRAM.cases())
def test_case(program: Path, case: str) -> None:
    run_case(program, case)
