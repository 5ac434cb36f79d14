"""How the cuda device uses NCCL: native cases on a stub library, and our declarations against NVIDIA's header.

Each case is a process of its own. ``JITC_SANITIZE`` (such as ``thread``) builds the program with sanitizers.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
SANITIZE = os.environ.get("JITC_SANITIZE", "")
STUBS = ROOT / "tests" / "unit" / "interpose" / "check"


def cases() -> list[str]:
    sources = [path.read_text() for path in HERE.glob("*.cpp")]
    return sorted(name for text in sources for name in re.findall(r"^CASE\((\w+)\)", text, re.M))


@pytest.fixture(scope="session")
def program() -> Path:
    build = ROOT / "build" / ("-".join(["nccl-test", *SANITIZE.split(",")]) if SANITIZE else "nccl-test")
    tools = Path(sys.executable).parent
    parts = ["-DJITC_PARTS=tests/unit/cuda/nccl", f"-DJITC_SANITIZE={SANITIZE}"]
    ninja = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={tools / 'ninja'}"]
    commands: list[list[str | Path]] = [
        [tools / "cmake", "-S", ROOT, "-B", build, *ninja, *parts],
        [tools / "cmake", "--build", build, "-j", "2"],
    ]
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return build / "tests" / "unit" / "cuda" / "nccl" / "jitc_cuda_nccl_test"


def test_program_has_the_cases_that_are_listed_here(program: Path) -> None:
    listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split()
    assert sorted(listed) == cases()
    assert len(listed) > 20


@pytest.mark.parametrize("case", cases())
def test_case(program: Path, case: str) -> None:
    done = subprocess.run([program, case], capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, f"{program} {case}\n{done.stdout}{done.stderr}"
    assert "WARNING: ThreadSanitizer" not in done.stderr


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
