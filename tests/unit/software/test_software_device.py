"""Runs the cases of the native test program of the software device (tests/unit/software/native).

Each case is a process of its own; cases of collectives make further ones. ``JITC_SANITIZE`` (such as
``thread`` or ``address,undefined``) builds the program, and the device in it, with sanitizers.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SANITIZE = os.environ.get("JITC_SANITIZE", "")


def cases() -> list[str]:
    sources = [path.read_text() for path in HERE.glob("native/*.cpp")]
    return sorted(name for text in sources for name in re.findall(r"^CASE\((\w+)\)", text, re.M))


@pytest.fixture(scope="session")
def program() -> Path:
    build = ROOT / "build" / ("-".join(["software-test", *SANITIZE.split(",")]) if SANITIZE else "software-test")
    tools = Path(sys.executable).parent
    configure: list[str | Path] = [
        tools / "cmake",
        "-S",
        ROOT,
        "-B",
        build,
        "-G",
        "Ninja",
        f"-DCMAKE_MAKE_PROGRAM={tools / 'ninja'}",
    ]
    options = ["-DJITC_PARTS=tests/unit/software/native", f"-DJITC_SANITIZE={SANITIZE}"]
    commands: list[list[str | Path]] = [[*configure, *options], [tools / "cmake", "--build", build, "-j", "2"]]
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return build / "tests" / "unit" / "software" / "native" / "jitc_software_test"


def test_program_has_the_cases_that_are_listed_here(program: Path) -> None:
    listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split()
    assert sorted(listed) == cases()
    assert len(listed) > 40


@pytest.mark.parametrize("case", cases())
def test_case(program: Path, case: str) -> None:
    done = subprocess.run([program, case], capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, f"{program} {case}\n{done.stdout}{done.stderr}"
    assert "WARNING: ThreadSanitizer" not in done.stderr
