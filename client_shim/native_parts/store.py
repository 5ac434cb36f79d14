"""Folders of native parts, each for some builds of PyTorch: the one in the package, and the user's.

Called by: supply.py, and the build of a wheel. Promises: what is found is whole (its hashes say so) and belongs to this
jitc; a part appears under its name at once and complete, or not at all; what others may write is not taken.

A part is a folder:  <name>/part.json  <name>/libjitc_torch.so  <name>/libjitc_operators.so
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import sources
from .torch_build import TorchBuild

LIBRARIES = tuple(one.name for one in sources.LIBRARIES)
MANIFEST = "part.json"
_FORMAT = 1


class UnsafeStore(Exception):
    """Another user may write into the folder, and what lies there would be loaded."""


@dataclass(frozen=True)
class Store:
    """private: it is a user's own, and must be nobody else's to write."""

    folder: Path
    private: bool = False

    def find(self, torch: TorchBuild) -> Path | None:
        """Returns the folder of the part for this build of PyTorch; None if there is none that is whole. Raises
        UnsafeStore."""
        self._refuse_foreign()
        for part, said in self._parts():
            if described(torch) in said["builds"] and _is_whole(part, said):
                return part
        return None

    def add(self, name: str, made: Path, builds: Iterable[TorchBuild]) -> Path:
        """Moves the two libraries in the folder `made`, which must lie in this one, to the part of this name.
        Raises OSError."""
        hashes = {library: _hash(made / library) for library in LIBRARIES}
        said = {
            "format": _FORMAT, "sources": sources.digest(),
            "builds": [described(one) for one in builds], "sha256": hashes,
        }  # fmt: skip
        (made / MANIFEST).write_text(json.dumps(said, indent=1) + "\n")
        for one in (*LIBRARIES, MANIFEST):
            (made / one).chmod(0o644)  # whatever this process' umask is: all users of the package load it
            _to_disk(made / one)
        place = self.folder / name
        shutil.rmtree(place, ignore_errors=True)  # one that is not whole, or of another jitc
        made.rename(place)
        return place

    def serve(self, name: str, torch: TorchBuild) -> None:
        """Lets the part of this name serve another build of PyTorch as well."""
        manifest = self.folder / name / MANIFEST
        said = json.loads(manifest.read_text())
        said["builds"].append(described(torch))
        manifest.write_text(json.dumps(said, indent=1) + "\n")

    def open(self) -> None:
        """Makes the folder where there is none. Raises OSError, UnsafeStore."""
        new = [one for one in (self.folder, *self.folder.parents) if not one.exists()]
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for one in () if self.private else new:
            one.chmod(0o755)
        self._refuse_foreign()

    def _refuse_foreign(self) -> None:
        if not self.private:
            return
        try:
            status = self.folder.stat()
        except OSError:
            return  # nothing can be there
        if status.st_uid != os.getuid() or status.st_mode & 0o022:
            raise UnsafeStore(
                f"{self.folder} is another user's, or others may write it, so that nothing is loaded from there: "
                "remove it, or set JITC_CACHE to a folder of your own"
            )

    def _parts(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        for manifest in sorted(self.folder.glob(f"*/{MANIFEST}")):
            try:
                said = json.loads(manifest.read_text())
            except (OSError, ValueError):
                continue
            if _is_of_this_jitc(said):
                yield manifest.parent, said


def is_of_a_part(library: Path) -> bool:
    """Returns whether a library has been chosen for this very build of PyTorch, by its part's description."""
    return (library.parent / MANIFEST).exists()


def described(torch: TorchBuild) -> dict[str, Any]:
    return {"version": torch.version, "git": torch.git, "old_strings": torch.old_strings}


def _is_of_this_jitc(said: Any) -> bool:
    fields = {"format": _FORMAT, "sources": sources.digest()}
    return (
        isinstance(said, dict) and all(said.get(name) == value for name, value in fields.items())
        and isinstance(said.get("builds"), list)
    )  # fmt: skip


def _is_whole(part: Path, said: dict[str, Any]) -> bool:
    try:
        return all(_hash(part / library) == said["sha256"][library] for library in LIBRARIES)
    except (OSError, KeyError, TypeError):
        return False


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _to_disk(file: Path) -> None:
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
