"""Workers of the cuda device are laid out alike, where the sandbox allows it."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

PERSONALITY = {"x86_64": 135, "aarch64": 92}  # its system call
REFUSED = Path(__file__).with_name("refused_call.py")
PROGRAM = """
import subprocess
from jitc.proxy.backends.layout import fix_layout
print(fix_layout())
for _ in range(2):
    print(subprocess.check_output(["grep", "stack", "/proc/self/maps"], text=True).split()[0])
"""


def run(*before: str) -> list[str]:
    command = [*before, sys.executable, "-c", PROGRAM]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.split()


def test_all_children_alike() -> None:
    allowed, first, second = run()
    assert allowed == "True"
    assert first == second


def test_the_sandbox_refuses() -> None:
    number = PERSONALITY.get(platform.machine())
    if number is None:
        pytest.skip(f"the number of this system call on {platform.machine()} is not known here")
    allowed, first, second = run(sys.executable, str(REFUSED), str(number))
    assert allowed == "False"
    assert first != second
