"""What all devices do alike: one set of cases (conformance/), run over each of them.

Each case is a process of its own; cases of collectives make further ones. The cuda device runs on the fake driver and
NCCL, whose log of calls tells what was leaked.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from toolkit.fake_leaks import leaks
from toolkit.fakes import fake_calls, fake_environment
from toolkit.native_program import TIMEOUT, NativeProgram, listed_cases, run_case

PROGRAM = NativeProgram("jitc_conformance_test", Path(__file__).resolve().parent / "conformance")
pytestmark = TIMEOUT
SEED = os.environ.get("JITC_TEST_SHUFFLE", "1")


@pytest.fixture(scope="session")
def program() -> Path:
    return PROGRAM.build()


def test_program_has_the_cases_that_are_listed_here(program: Path) -> None:
    assert listed_cases(program) == PROGRAM.cases()
    assert len(PROGRAM.cases()) > 30


@pytest.mark.parametrize("case", PROGRAM.cases())
@pytest.mark.parametrize(("device", "shuffle"), [("software", "0"), ("cuda", "0"), ("software", SEED)])
def test_case(program: Path, device: str, shuffle: str, case: str, tmp_path: Path) -> None:
    """shuffle: the seed of delays, which change nothing that a device promises; 0: none."""
    check(program, case, tmp_path / "log", {"JITC_TEST_DEVICE": device, "JITC_TEST_SHUFFLE": shuffle})


@pytest.mark.parametrize("case", [one for one in PROGRAM.cases() if one.startswith("collective")])
@pytest.mark.parametrize(("device", "nodes"), [("software", "2"), ("cuda", "2"), ("software", "3")])
def test_case_over_nodes(program: Path, device: str, nodes: str, case: str, tmp_path: Path) -> None:
    """nodes: each rank's neighbours are on other ones, with a bridge between them."""
    check(program, case, tmp_path / "log", {"JITC_TEST_DEVICE": device, "JITC_TEST_NODES": nodes})


def check(program: Path, case: str, log: Path, environment: dict[str, str]) -> None:
    run_case(program, case, fake_environment(log) | environment)
    calls = [call for call in fake_calls(log) if not call.runs]
    assert bool(calls) == (environment["JITC_TEST_DEVICE"] == "cuda")
    assert not leaks(calls)
