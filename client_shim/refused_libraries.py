"""A program that ends with PyTorch's own error of a library that is not served (cuFFT, cuSOLVER) is told so below it.

PyTorch turns such a library's status into words of its own ("cuFFT error: CUFFT_NOT_SUPPORTED"). The line that jitc
prints where a library is refused may have been long before.

Called by: _prepare(). Promises: what the program sees of exceptions is the same; it gets one line more when an
exception ends it that names a library which was refused, and nothing else.
"""

from __future__ import annotations

import ctypes
import sys
from types import TracebackType
from typing import Any


def refused(interposer: Any) -> tuple[str, str] | None:
    """The title of the library that was refused last, and what helps instead; None: none was."""
    title, instead = ctypes.c_char_p(), ctypes.c_char_p()
    if not interposer.jitc_refused_library(ctypes.byref(title), ctypes.byref(instead)):
        return None
    return (title.value or b"").decode(), (instead.value or b"").decode()


def explain_errors(interposer: Any) -> None:
    """From now on."""
    before = sys.excepthook

    def explained(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        before(kind, error, trace)
        if (found := refused(interposer)) and found[0].lower() in str(error).lower():
            print(f"jitc: {found[0]} is not served: {found[1]} (docs/coverage.md)", file=sys.stderr, flush=True)

    sys.excepthook = explained
