"""Products of complex numbers and operators of compressed and nested tensors are those of the CPU, to the last bit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from toolkit.job import PRELOAD
from toolkit.workplace import Workplace

PROGRAM = Path(__file__).with_name("special_tensors.py")


#: With it MKL's products do not depend on where in memory a matrix lies, as those with AVX-512 do in their last bit.
ANYWHERE = {"MKL_CBWR": "COMPATIBLE"}


def test_they_equal_the_cpu(workplace: Workplace) -> None:
    environ = workplace.service(1, **ANYWHERE).env | ANYWHERE | {"LD_PRELOAD": str(PRELOAD), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(PROGRAM)], env=environ, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.splitlines() == ["compared"], done.stderr[-4000:]
    assert "jitc: " not in done.stderr  # no kernel was launched past the operators
