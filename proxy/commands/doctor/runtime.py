"""Files of a program that have a CUDA runtime linked in statically: its calls do not reach jitc.

Called by: program.py. Promises: files are read, never loaded; the work is bounded, and files that were not read are
counted. NVIDIA's own libraries have such runtimes too; jitc answers or refuses their functions itself.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from . import elf

#: Packages that are known to come with such a runtime: they are read although the program may not import them.
KNOWN = ("bitsandbytes", "cupy", "cupy_backends", "faiss", "tensorrt_libs")
#: Packages that are served, or without which no program runs. Reading them takes long.
_SERVED = ("jitc", "numpy", "nvidia", "torch", "triton")
#: Beginnings of the names of NVIDIA's own libraries, and of jitc's.
_NVIDIA = (
    "libcuda", "libcublas", "libcudnn", "libcufft", "libcufile", "libcupti", "libcurand", "libcusolver", "libcusparse",
    "libjitc_", "libnccl", "libnpp", "libnv",
)  # fmt: skip
#: Bounds of one search.
_FILES, _SECONDS = 2000, 4.0


@dataclass
class Search:
    """The search through one program's files."""

    found: list[Path] = field(default_factory=list)
    read: int = 0
    left: int = 0  # files that were not read
    _until: float = field(default_factory=lambda: time.monotonic() + _SECONDS)

    def files(self, paths: Iterable[Path]) -> Search:
        for one in paths:
            if one.name.startswith(_NVIDIA) or not one.is_file():
                continue
            if self.read >= _FILES or time.monotonic() > self._until:
                self.left += 1
                continue
            self.read += 1
            try:
                if elf.has_runtime(one):
                    self.found.append(one)
            except (OSError, ValueError):
                self.left += 1
        return self


def packages(script: Path | None, module: str = "") -> set[str]:
    """Returns the packages that a script imports by itself, or that of a module; none for what is no Python."""
    names = {module.partition(".")[0]} if module else set()
    if script is not None:
        try:
            tree = ast.parse(script.read_bytes())
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            return names
        names |= set(_imported(tree))
    return names - set(_SERVED)


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name.split(".")[0] for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def libraries(package: str, folders: Iterable[str]) -> Iterator[Path]:
    """Returns the shared libraries of an installed package, also those that wheels put beside it."""
    for folder in folders:
        for inside in (Path(folder, package), Path(folder, f"{package}.libs")):
            yield from sorted(inside.rglob("*.so*")) if inside.is_dir() else ()
        yield from sorted(Path(folder).glob(f"{package}.*.so"))
