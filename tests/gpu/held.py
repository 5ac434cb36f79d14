"""A process that holds a context on the GPU while the check runs: without a persistence daemon the driver starts the
GPU anew for each step otherwise, which takes 1 to 3 s.

Called by: check.py, from the first step on that needs a GPU: the preflight measures the GPU as it is found. Promises:
nothing waits for it; it ends with the check, however that ends; where there is no GPU, or the GPU takes one process
only, it ends at once and its log says why.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from . import children

#: Of the preflight's parts.
PART = "held_context"


class HeldContext:
    """Is there until close()."""

    def __init__(self, driver: str, environment: Mapping[str, str], log: Path) -> None:
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "gpu.preflight", PART], stdin=subprocess.PIPE, stdout=output, stderr=output,
                env=dict(environment), start_new_session=True,
            )  # fmt: skip
        children.keep(self._process.pid)
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps({"driver": driver}).encode() + b"\n")
            self._process.stdin.flush()

    def close(self) -> None:
        """Its end is waited for by children.end_all."""
        children.keep(0)
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
