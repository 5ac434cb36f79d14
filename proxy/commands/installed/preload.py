"""The library that programs preload, tried before a program gets it.

Called by: ../run.py, ../demo/job.py; ../doctor/installation.py. Promises: a library that the loader does not take is
refused; the loader itself only warns, and the program would run without jitc. Nothing slow is imported.
"""

from __future__ import annotations

import sys
from pathlib import Path

from jitc.client_shim.native_parts import installation

from ...common import paths
from ..doctor import child
from ..doctor.check import NoVerdict

_TRIAL = "print(any('libjitc_interpose' in line for line in open('/proc/self/maps')))"


def library() -> Path:
    """Returns the library for LD_PRELOAD. Raises MissingLibrary."""
    path = paths.preload_library()
    try:
        why = refusal(path)
    except NoVerdict:  # a machine that is too busy to say
        return path
    if why:
        raise paths.MissingLibrary(f"{why}; {installation.remedy()}")
    return path


def refusal(path: Path) -> str:
    """Returns why the loader does not take the library; empty: it does. Raises NoVerdict."""
    done = child.ran([sys.executable, "-S", "-c", _TRIAL], environment={"LD_PRELOAD": str(path)})
    return "" if done.output.strip() == "True" else f"{path} cannot be preloaded: {done.why()}"
