"""The end of a program whose error names a library that is not served."""

from __future__ import annotations

import subprocess
import sys

import pytest
from toolkit.job import PRELOAD
from toolkit.workplace import Workplace

#: The library's function is refused where a program calls it, on every device; PyTorch's words are those of a GPU.
PROGRAM = """
import ctypes, sys, torch
torch.zeros(1, device="cuda")
if sys.argv[1]:
    getattr(ctypes.CDLL(None), sys.argv[1])(None, None, None)
raise RuntimeError(sys.argv[2])
"""
LINE = "jitc: cuFFT is not served: transform on the CPU (docs/coverage.md)"


@pytest.mark.parametrize(
    ("called", "error", "told"),
    [
        ("cufftPlan1d", "cuFFT error: CUFFT_NOT_SUPPORTED", True),
        ("cufftPlan1d", "an error of the program", False),
        ("", "cuFFT error: CUFFT_NOT_SUPPORTED", False),
    ],
)
@pytest.mark.sampled
def test_the_line_below_the_error(called: str, error: str, told: bool, shared_workplace: Workplace) -> None:
    environ = shared_workplace.service(1).env | {"LD_PRELOAD": str(PRELOAD)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, called, error],
        env=environ, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[-1 - told] == f"RuntimeError: {error}", done.stderr
    assert (lines[-1] == LINE) is told
