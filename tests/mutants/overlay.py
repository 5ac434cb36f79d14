"""jitc with files changed, beside the tree: a folder that Python looks into first.

Called by: command.py. Promises: nothing in the tree is touched; the folder has the changed files, and links to all
else; processes that a test starts see it too, since PYTHONPATH says where it is.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from toolkit.tree import ROOT

#: Where the packages lie (pyproject.toml).
PACKAGES = {
    "client_shim": "client_shim", "interpose": "interpose", "proxy": "proxy", "ops": "protos/ops",
    "v1": "protos/jitc/v1",
}  # fmt: skip


def make(folder: Path, changed: Mapping[str, str | Path]) -> None:
    """In an empty folder. changed: files of the tree, in one of the packages, and what each has instead: a content, or
    the content of another file. Where the native part is another one, so must be what says where it lies."""
    top = folder / "jitc"
    top.mkdir()
    for package, place in PACKAGES.items():
        inside = {
            Path(file).relative_to(place).parts: instead
            for file, instead in changed.items()
            if file.startswith(f"{place}/")
        }
        if inside:
            _mirror(ROOT / place, top / package, inside)
        else:
            (top / package).symlink_to(ROOT / place)


def _mirror(source: Path, target: Path, changed: Mapping[tuple[str, ...], str | Path]) -> None:
    """A folder of links, in which the folders on the way to what is changed are real."""
    target.mkdir()
    for one in source.iterdir():
        if one.name == "__pycache__":  # what was compiled before is of the file that is there
            continue
        mine = {way[1:]: instead for way, instead in changed.items() if way[0] == one.name}
        if not mine:
            (target / one.name).symlink_to(one)
        elif () not in mine:
            _mirror(one, target / one.name, mine)
        elif isinstance(instead := mine[()], Path):
            (target / one.name).symlink_to(instead)
        else:
            (target / one.name).write_text(instead)


def environment(folder: Path) -> dict[str, str]:
    """For a process that is to see it."""
    ways = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(ways), "PYTHONDONTWRITEBYTECODE": "1"}
