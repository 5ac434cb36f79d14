"""What all devices do alike: one set of cases (conformance/), run over each of them.

Each case is a process of its own; cases of collectives make further ones. The cuda device runs on the fake driver and
NCCL, whose log of calls tells what was leaked.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from toolkit.fake_leaks import leaks
from toolkit.fakes import fake_calls, fake_environment
from toolkit.native_program import TIMEOUT, NativeProgram, listed_cases, run_case

PROGRAM = NativeProgram("jitc_conformance_test", Path(__file__).resolve().parent / "conformance")
pytestmark = TIMEOUT


@pytest.fixture(scope="session")
def program() -> Path:
    return PROGRAM.build()


def test_program_has_the_cases_that_are_listed_here(program: Path) -> None:
    assert listed_cases(program) == PROGRAM.cases()
    assert len(PROGRAM.cases()) > 30


@pytest.mark.parametrize("case", PROGRAM.cases())
@pytest.mark.parametrize("device", ["software", "cuda"])
def test_case(program: Path, device: str, case: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    run_case(program, case, fake_environment(log) | {"JITC_TEST_DEVICE": device})
    calls = [call for call in fake_calls(log) if not call.runs]
    assert bool(calls) == (device == "cuda")
    assert not leaks(calls)
