"""How the cuda device uses NCCL: native cases on a stub library, and our declarations against NVIDIA's header.

Each case is a process of its own.
"""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path

import pytest
from toolkit.native_program import TIMEOUT, NativeProgram, listed_cases, run_case

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[4]
STUBS = ROOT / "tests" / "unit" / "interpose" / "api" / "check"
PROGRAM = NativeProgram("jitc_cuda_nccl_test", HERE)
pytestmark = TIMEOUT


@pytest.fixture(scope="session")
def program() -> Path:
    return PROGRAM.build()


def test_program_has_the_cases_that_are_listed_here(program: Path) -> None:
    assert listed_cases(program) == PROGRAM.cases()
    assert len(PROGRAM.cases()) > 20


@pytest.mark.parametrize("case", PROGRAM.cases())
def test_case(program: Path, case: str) -> None:
    run_case(program, case)


def test_our_declarations_are_those_of_nccl_h() -> None:
    nvidia = importlib.util.find_spec("nvidia")
    places = [Path(place) for place in (nvidia.submodule_search_locations or [])] if nvidia else []
    roots = [place for place in places if (place / "nccl" / "include" / "nccl.h").is_file()]
    if not roots:
        pytest.skip("NCCL's header is not installed")
    system = [
        STUBS / "stubs",
        *(root / "cu13" / "include" for root in roots),
        *(root / "nccl" / "include" for root in roots),
    ]
    include = [f"-I{STUBS}", f"-I{ROOT / 'proxy' / 'native'}"]
    flags = ["-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", *include]
    command = ["c++", *flags, *(f"-isystem{one}" for one in system), str(HERE / "nccl_abi_check.cc")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
