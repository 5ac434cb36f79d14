"""The library that programs preload, tried before a program gets it.

Called by: ../run.py, ../demo/job.py. Promise: a library that the loader does not take is refused; the loader itself
only warns, and the program would run without jitc.
"""

from __future__ import annotations

from pathlib import Path

from ...common import paths


def library() -> Path:
    """Returns the library for LD_PRELOAD. Raises MissingLibrary."""
    from ..doctor.check import BAD, NoVerdict
    from ..doctor.installation import of_preloaded

    path = paths.preload_library()
    try:
        found = of_preloaded(lambda: path)
    except NoVerdict:  # a machine that is too busy to say
        return path
    if found.verdict == BAD:
        raise paths.MissingLibrary(f"{found.says}; {found.remedy}")
    return path
