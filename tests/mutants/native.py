"""The executor's library with one of its sources changed: compiled and linked as the tree's own, into another folder.

Called by: command.py. Promises: nothing in the tree or its build is touched; what is built is what `make build` would
build of such a source. A header cannot be changed: all that include it would have to be compiled.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

from toolkit.tree import ROOT

BUILD = ROOT / "build" / "native"
LIBRARY = "proxy/lib/libjitc_executor.so"
#: What says where the library lies, by where it lies itself.
PATHS = "proxy/common/paths.py"
FOLDER = "proxy/native/"
BUILD_SECONDS = 300.0


class NotBuilt(Exception):
    """What the compiler or the linker said."""


def is_native(file: str) -> bool:
    return file.startswith(FOLDER)


def changed(file: str, content: str, folder: Path) -> dict[str, str | Path]:
    """What an overlay has for this source of the executor's; the library is made in the folder. Raises NotBuilt."""
    source, made, library = folder / Path(file).name, folder / "changed.o", folder / Path(LIBRARY).name
    source.write_text(content)
    known, words, place = _compiling(ROOT / file)
    beside = ["-iquote", str((ROOT / file).parent)]  # headers of its own folder
    _run([*(_instead(one, {str(ROOT / file): str(source), known: str(made)}) for one in words), *beside], place)
    command = shlex.split(_linking())
    command = command[command.index("&&") + 1 : -2] if command[0] == ":" else command
    _run([_instead(one, {known: str(made), str(ROOT / LIBRARY): str(library)}) for one in command], BUILD)
    return {LIBRARY: library, PATHS: (ROOT / PATHS).read_text()}


def _instead(word: str, others: dict[str, str]) -> str:
    return others.get(word, word)


def _compiling(file: Path) -> tuple[str, list[str], Path]:
    """The object, as the linker knows it, the command that makes it, and where that runs."""
    for one in json.loads((BUILD / "compile_commands.json").read_text()):
        if one["file"] == str(file) and "jitc_executor.dir" in one["command"]:
            words = shlex.split(one["command"])
            return words[words.index("-o") + 1], words, Path(one["directory"])
    raise NotBuilt(f"{file.relative_to(ROOT)} is no source of the executor's")


def _linking() -> str:
    ninja = Path(sys.executable).with_name("ninja")
    command = [str(ninja), "-C", str(BUILD), "-t", "commands", "-s", str(ROOT / LIBRARY)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    lines = [one for one in done.stdout.splitlines() if " -o " in one]
    if not lines:
        raise NotBuilt(f"ninja does not know how {LIBRARY} is made: {done.stdout}{done.stderr}")
    return lines[-1]


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=BUILD_SECONDS, check=False)
    if done.returncode:
        raise NotBuilt(f"{shlex.join(command)[:300]} ...\n{done.stderr[-2000:]}")
