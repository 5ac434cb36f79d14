"""Programs on the software device without service and worker: CUDA runtime and operators in their own process."""

from __future__ import annotations

import os
import subprocess
import sys

from .tree import ROOT
from .waiting import patient

STAND_IN = ROOT / "build" / "lib" / "libjitc_loop.so"
OPERATORS = ROOT / "proxy" / "lib" / "libjitc_operators.so"


def environment(**more: str) -> dict[str, str]:
    assert STAND_IN.is_file(), "make build"
    ours = {"LD_PRELOAD": str(STAND_IN), "JITC_TEST_OPERATORS": str(OPERATORS), "OMP_NUM_THREADS": "1"}
    return {**os.environ, **ours, **more}


def with_stand_in(*command: str, limit: float = 240) -> subprocess.CompletedProcess[str]:
    """Runs Python with these arguments."""
    return subprocess.run(
        [sys.executable, *command],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=patient(limit),
        check=False,
    )
