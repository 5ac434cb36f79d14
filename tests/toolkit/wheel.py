"""A wheel made of this checkout, and an environment in which it is installed beside the PyTorch of the tests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from .tree import ROOT

#: What must not be seen of the checkout that the wheel was made of.
HIDDEN = ("PYTHONPATH", "JITC_CACHE", "JITC_SOCKET", "LD_PRELOAD", "VIRTUAL_ENV", "CXX", "XDG_CACHE_HOME")
BIN = Path(sys.executable).parent
PLATFORM = "manylinux_2_34_x86_64"
#: Libraries that native parts take from the PyTorch beside them: nothing that auditwheel may put into the wheel.
OF_PYTORCH = ("libtorch*.so", "libc10*.so")
#: Folders and a name that tell nothing of a machine.
EVERYWHERE = {"", "/", "/usr", "/usr/local", "localhost"}


def made(out: Path, releases: str = "") -> Path:
    """Makes wheel, source distribution and the files beside them in a folder, with parts for these releases of PyTorch.
    Returns the wheel."""
    command = [sys.executable, str(ROOT / "scripts/wheel/make.py"), "--releases", releases, "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False, env=environment())
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
    (wheel,) = out.glob("*.whl")
    return wheel


def environment(**changes: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in HIDDEN} | changes


def installed(folder: Path, wheel: Path, torch: bool = True) -> Path:
    """Installs the wheel into a new environment. Returns its folder of programs. torch: what this environment has
    beside jitc can be imported there as well."""
    venv.create(folder, with_pip=True, symlinks=True)
    packages = site_packages(folder)
    if torch:
        (ours,) = {str(Path(one)) for one in sys.path if one.endswith("site-packages")}
        (packages / "beside.pth").write_text(ours + "\n")  # without what lies there in .pth files: jitc's checkout
    words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index", str(wheel)]
    subprocess.run([str(folder / "bin" / "python"), *words], check=True, timeout=300, env=environment())
    return folder / "bin"


def site_packages(folder: Path) -> Path:
    (found,) = folder.glob("lib/python3.*/site-packages")
    return found


def bring(packages: Path, requirements: Iterable[str]) -> None:
    """Lets what is required, and what that requires in turn, be imported from a folder: as it is in this environment.
    Nothing is asked of an index."""
    for one in map(Requirement, requirements):
        if one.marker is not None and not one.marker.evaluate({"extra": ""}):
            continue
        found = metadata.distribution(one.name)
        tops = {file.parts[0] for file in found.files or () if file.parts[0] not in ("..", "__pycache__")}
        new = [top for top in tops if not (packages / top).exists()]
        for top in new:
            (packages / top).symlink_to(Path(str(found.locate_file(top))))
        if new:
            bring(packages, found.requires or ())


def tool(*command: str) -> str:
    """Runs a program of this environment, which has to succeed. Returns what it says."""
    done = subprocess.run(
        [str(BIN / command[0]), *command[1:]], capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "COLUMNS": "300", "NO_COLOR": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def repaired(wheel: Path, folder: Path) -> Path:
    """Lets auditwheel put into the wheel what it lacks, apart from PyTorch. Returns its wheel, in the folder."""
    without = [word for one in OF_PYTORCH for word in ("--exclude", one)]
    tool("auditwheel", "repair", "--plat", PLATFORM, *without, "--wheel-dir", str(folder), str(wheel))
    (found,) = folder.iterdir()
    return found


def places(*more: Path | str) -> set[str]:
    """By what a file would tell of the machine that made it: the names of its folders, and its own."""
    ours = {ROOT, Path.home(), sys.prefix, sys.base_prefix, os.uname().nodename, *more}
    return {str(one) for one in ours} - EVERYWHERE


def named_in(contents: bytes, names: set[str]) -> list[str]:
    """Which of these names are there. One that is short has to stand by itself: /root is not in /mnt/root, nor in
    /rooted. In machine code a word of four letters stands for nothing."""
    found = []
    for one in sorted(names):
        before = rb"(?<![\w./-])" if one.count("/") < 2 else rb""
        by_chance = len(one) < 5 and b"\0" in contents
        if not by_chance and re.search(before + re.escape(one.encode()) + rb"(?![\w-])", contents):
            found.append(one)
    return found
