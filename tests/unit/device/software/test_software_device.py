"""Runs the cases of the native test program of the software device (tests/unit/device/software/native).

Each case is a process of its own; cases of collectives make further ones.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from toolkit.native_program import TIMEOUT, NativeProgram, listed_cases, run_case

PROGRAM = NativeProgram("jitc_software_test", Path(__file__).resolve().parent / "native")
pytestmark = TIMEOUT
SEED = os.environ.get("JITC_TEST_SHUFFLE", "1")
#: Cases without streams, or with so much work that no delay shows.
UNSHUFFLED = ("memory", "pages", "steady", "shuffle", "collective_larger", "crew")
#: Cases of communicators, whose ranks may be on several nodes.
OF_RANKS = ("collective", "abort", "join", "link", "split")
#: Cases that race in the program's own memory on purpose: ThreadSanitizer sees it too.
RACING = "order_"


def environment_of(case: str, seed: str) -> dict[str, str]:
    options = os.environ.get("TSAN_OPTIONS", "") + (":report_bugs=0" if case.startswith(RACING) else "")
    return os.environ | {"JITC_TEST_SHUFFLE": seed, "TSAN_OPTIONS": options}


@pytest.fixture(scope="session")
def program() -> Path:
    return PROGRAM.build()


def test_program_has_the_cases_that_are_listed_here(program: Path) -> None:
    assert listed_cases(program) == PROGRAM.cases()
    assert len(PROGRAM.cases()) > 40


@pytest.mark.parametrize("case", PROGRAM.cases())
def test_case(program: Path, case: str) -> None:
    run_case(program, case, environment_of(case, "0"))


@pytest.mark.parametrize("case", [one for one in PROGRAM.cases() if one.startswith(OF_RANKS)])
def test_case_over_nodes(program: Path, case: str) -> None:
    """Each rank's neighbours are on other nodes, with a bridge between them."""
    run_case(program, case, environment_of(case, "0") | {"JITC_TEST_NODES": "2"})


@pytest.mark.parametrize("case", [one for one in PROGRAM.cases() if not one.startswith(UNSHUFFLED)])
def test_case_shuffled(program: Path, case: str) -> None:
    """Delays change nothing that the device promises."""
    run_case(program, case, environment_of(case, SEED))
