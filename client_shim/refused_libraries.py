"""Adds a line below PyTorch's own error about a library that is not served (cuFFT, cuSOLVER) if it ends the program.

PyTorch turns such a library's status into its own words ("cuFFT error: CUFFT_NOT_SUPPORTED"). The line that jitc
prints when a library is refused may have been long before.

Called by: _prepare(). Promises: exceptions look the same to the program; it gets one more line if an exception that
names a refused library ends it, and nothing else.
"""

from __future__ import annotations

import ctypes
import sys
from types import TracebackType
from typing import Any


def refused(interposer: Any) -> tuple[str, str] | None:
    """Returns the title of the library that was refused last, and the alternative; None: none was."""
    title, instead = ctypes.c_char_p(), ctypes.c_char_p()
    if not interposer.jitc_refused_library(ctypes.byref(title), ctypes.byref(instead)):
        return None
    return (title.value or b"").decode(), (instead.value or b"").decode()


def explain_errors(interposer: Any) -> None:
    """Enables the line from now on."""
    before = sys.excepthook

    def explained(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        before(kind, error, trace)
        if (found := refused(interposer)) and found[0].lower() in str(error).lower():
            print(f"jitc: {found[0]} is not served: {found[1]} (docs/coverage.md)", file=sys.stderr, flush=True)

    sys.excepthook = explained
