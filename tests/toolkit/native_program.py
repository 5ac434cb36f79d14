"""Native test programs: C++ cases (native/cases.h) that a Python test builds and runs one at a time.

Promises: programs are built where `make build` built (JITC_TEST_BUILD: another folder, such as that of a sanitizer), of
the same objects; a build and a case each have a time limit, and end with every process that they started. Called by the
tests that run such a program, which mark themselves with ``TIMEOUT``: the first of them has the build in its setup.
"""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from .campaign import processes
from .waiting import patient

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("JITC_TEST_BUILD") or ROOT / "build" / "native").resolve()
BUILD_SECONDS = 3600.0  # with sanitizers, on a machine that is busy with other things
CASE_SECONDS = 900.0
#: pytest's own time limit is for the tests: a build has the one above.
TIMEOUT = pytest.mark.timeout(func_only=True)


@dataclass(frozen=True)
class NativeProgram:
    """A program by its target and the folder of its sources, with the folders in it (native/programs.cmake)."""

    target: str
    sources: Path

    def cases(self) -> list[str]:
        """Names in the sources, so that pytest can list them before anything is built."""
        texts = [path.read_text() for path in self.sources.rglob("*.cpp")]
        return sorted(name for text in texts for name in re.findall(r"^CASE\((\w+)\)", text, re.MULTILINE))

    def build(self) -> Path:
        """The program, up to date. Builds of several tests that run at once come one after the other."""
        command = [str(Path(sys.executable).with_name("cmake")), "--build", str(BUILD), "--target", self.target]
        with (BUILD / "tests.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            finish(command, BUILD_SECONDS)
        return BUILD / "tests" / self.target


def listed_cases(program: Path) -> list[str]:
    return sorted(finish([str(program), "--list"], CASE_SECONDS).split())


def run_case(program: Path, case: str, env: dict[str, str] | None = None) -> None:
    """In a process of its own, which may make further ones."""
    output = finish([str(program), case], CASE_SECONDS, env)
    assert "WARNING: ThreadSanitizer" not in output, output


def finish(command: list[str], seconds: float, env: dict[str, str] | None = None) -> str:
    """What the command wrote, once it has ended well; over the limit it ends with all that it started."""
    done = processes.finished(command, patient(seconds), stderr=subprocess.STDOUT, env=env)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}"
    return done.stdout
