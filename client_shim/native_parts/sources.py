"""Lists what the two libraries of a native part are made of: sources, folders of headers, PyTorch's libraries.

Called by: compile.py, which follows it, and store.py, which knows a part of other sources by the digest. The same lies
in a checkout and in a wheel. CMake files of a checkout say it once more, for ninja; a test compares the two.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .installation import PACKAGES

#: Folders of headers that both take, below PACKAGES.
_PROTOCOL = "protos/include"
#: What the flags and the form of a part depend on besides; grows with each change of them.
_RECIPE = 1


@dataclass(frozen=True)
class Library:
    """A library of a part. folders, headers: below PACKAGES; torch: the libraries of PyTorch that it needs, by name;
    common: the headers that most of its files include, which are read once."""

    name: str
    folder: str
    headers: tuple[str, ...]
    torch: tuple[str, ...]
    common: tuple[str, ...]
    cuda: bool = False

    def files(self) -> list[Path]:
        return sorted((PACKAGES / self.folder).rglob("*.cpp"))


LIBRARIES = (
    Library(
        name="libjitc_torch.so",
        folder="client_shim/native",
        headers=("client_shim/native", "interpose/include", _PROTOCOL),
        torch=("libtorch_cpu.so", "libtorch_cuda.so", "libc10.so", "libc10_cuda.so"),
        common=("ATen/core/Tensor.h", "ATen/core/dispatch/Dispatcher.h", "torch/library.h"),
        cuda=True,
    ),
    Library(
        name="libjitc_operators.so",
        folder="proxy/native/operators",
        headers=("proxy/native", "proxy/native/include", _PROTOCOL),
        torch=("libtorch_cpu.so", "libc10.so"),
        common=("ATen/core/Tensor.h", "ATen/core/stack.h", "ATen/core/dispatch/Dispatcher.h"),
    ),
)


def files() -> list[Path]:
    """Returns all files that a part is made of, and in a checkout those beside them in the same folders."""
    folders = {one.folder for one in LIBRARIES} | {"interpose/include", "proxy/native/include", _PROTOCOL}
    found = {path for folder in folders for kind in ("*.cpp", "*.h") for path in (PACKAGES / folder).rglob(kind)}
    return sorted(found)


@cache
def digest() -> str:
    """Returns the SHA-256 of all sources, with their names, and of the recipe."""
    whole = hashlib.sha256(f"{_RECIPE}\n".encode())
    for path in files():
        contents = hashlib.sha256(path.read_bytes()).hexdigest()
        whole.update(f"{path.relative_to(PACKAGES)} {contents}\n".encode())
    return whole.hexdigest()
