"""Loads a worker's libraries before they are needed, so that a spare takes over in milliseconds.

Called by: the worker's entry point. Promise: PyTorch's C++ libraries are opened from the torch package's folder without
importing it: importing would cost seconds and memory, and would initialise CUDA's Python side for nothing.
"""

from __future__ import annotations

import ctypes
import sys
from importlib.util import find_spec
from pathlib import Path

#: In dependency order; found by their names when libjitc_operators.so is opened.
_TORCH_LIBRARIES = ("libc10.so", "libtorch_cpu.so")


def load_operators(library: Path | None) -> str:
    """Loads the library and its dependencies. Returns its path for the executor's options; "" without operators."""
    if library is None:
        return ""
    spec = find_spec("torch")
    folders = list(spec.submodule_search_locations or []) if spec is not None else []
    if not folders:
        print("jitc worker: PyTorch is not installed; operators of the software device are off", file=sys.stderr)
        return ""
    for name in _TORCH_LIBRARIES:
        ctypes.CDLL(str(Path(folders[0]) / "lib" / name))
    operators = ctypes.CDLL(str(library))
    operators.jitc_operators_get.restype = ctypes.c_void_p
    operators.jitc_operators_get()
    return str(library)
