"""jitc with one file changed, beside the tree: a folder that Python looks into first.

Called by: command.py. Promises: nothing in the tree is touched; the folder has one changed file, and links to all else;
processes that a test starts see it too, since PYTHONPATH says where it is.
"""

from __future__ import annotations

import os
from pathlib import Path

from toolkit.tree import ROOT

#: Where the packages lie (pyproject.toml).
PACKAGES = {
    "client_shim": "client_shim", "interpose": "interpose", "proxy": "proxy", "ops": "protos/ops",
    "v1": "protos/jitc/v1",
}  # fmt: skip


def make(folder: Path, file: str = "", content: str = "") -> None:
    """In an empty folder. file: of the tree, in one of the packages; without one nothing is changed."""
    top = folder / "jitc"
    top.mkdir()
    for package, place in PACKAGES.items():
        inside = file.removeprefix(f"{place}/")
        if inside == file:
            (top / package).symlink_to(ROOT / place)
        else:
            _mirror(ROOT / place, top / package, Path(inside).parts, content)


def _mirror(source: Path, target: Path, way: tuple[str, ...], content: str) -> None:
    """A folder of links, in which the folders on the way are real, and the file at its end is another one."""
    target.mkdir()
    for one in source.iterdir():
        if one.name == "__pycache__":  # what was compiled before is of the file that is there
            continue
        if one.name != way[0]:
            (target / one.name).symlink_to(one)
        elif len(way) == 1:
            (target / one.name).write_text(content)
        else:
            _mirror(one, target / one.name, way[1:], content)


def environment(folder: Path) -> dict[str, str]:
    """For a process that is to see it."""
    ways = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(ways), "PYTHONDONTWRITEBYTECODE": "1"}
