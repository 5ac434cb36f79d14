"""Workers of the cuda device are laid out alike, where the sandbox allows it."""

from __future__ import annotations

import subprocess
import sys

from toolkit.sandbox import refusing

PROGRAM = """
import subprocess
from jitc.proxy.backends.cuda.layout import fix_layout
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
    allowed, first, second = run(*refusing("personality"))
    assert allowed == "False"
    assert first != second
