"""Which build of PyTorch is here, by its files: PyTorch itself is not imported.

Called by: the other modules of this folder. Promise: two builds between which C++ code may differ are told apart, by
version, git hash and the C++ library's strings.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

_SAYS = re.compile(r"^(__version__|git_version)(?:\s*:[^=]+)?\s*=\s*['\"]([^'\"]*)", re.MULTILINE)


@dataclass(frozen=True)
class TorchBuild:
    """A PyTorch: its folder, its version with the part that names the build (2.11.0+cu130), the hash of its sources
    (empty where it says none), and whether it was built with the C++ library's old strings, as wheels before 2.7."""

    folder: Path
    version: str
    git: str
    old_strings: bool

    @property
    def minor(self) -> str:
        """The minor release: 2.11 for 2.11.0+cu130."""
        return ".".join(re.findall(r"\d+", self.version)[:2])

    @property
    def release(self) -> str:
        """The release without the part that names the build: 2.11.0 for 2.11.0+cu130."""
        return self.version.split("+")[0]


def installed() -> TorchBuild | None:
    """Returns the PyTorch that `import torch` would take, None if there is none."""
    try:
        spec = find_spec("torch")
    except (ImportError, ValueError):
        return None
    folders = list(spec.submodule_search_locations or []) if spec is not None else []
    return in_folder(Path(folders[0])) if folders else None


def in_folder(folder: Path) -> TorchBuild | None:
    """Returns the PyTorch whose package lies in a folder, None if it does not say which it is."""
    try:
        said = dict(_SAYS.findall((folder / "version.py").read_text()))
    except (OSError, UnicodeDecodeError):
        return None
    if "__version__" not in said:
        return None
    return TorchBuild(folder, said["__version__"], said.get("git_version", ""), _old_strings(folder))


def _old_strings(folder: Path) -> bool:
    """Returns what PyTorch's own CMake file says to those who build against it."""
    try:
        return "_GLIBCXX_USE_CXX11_ABI=0" in (folder / "share" / "cmake" / "Torch" / "TorchConfig.cmake").read_text()
    except (OSError, UnicodeDecodeError):
        return False
