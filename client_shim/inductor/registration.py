"""Registers C++ kernels for the software device with Inductor, as soon as the program imports Inductor.

Called by: kernel_compilers.py. Promises: nothing of Inductor is imported before the program does it; on other devices
nothing is changed; a function that this release of PyTorch lacks is reported in one line, at the first compilation.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

MODULE = "torch._inductor.codegen.common"  # where back ends of Inductor are registered
_COMPLETE = "torch._inductor.graph"  # imported after it, with what it takes from there


def change(common: Any) -> None:
    """Changes the module, which was imported just now, or long ago."""
    if _COMPLETE in sys.modules:
        _register(common)
        return
    registers: Any = common.init_backend_registration

    @functools.cache
    def init_backend_registration() -> None:
        _register(common)
        registers()  # for all other devices

    common.init_backend_registration = init_backend_registration


def _register(common: Any) -> None:
    # Not at the top: this imports Inductor.
    from jitc.client_shim.inductor import scheduling

    scheduling.register(common)
