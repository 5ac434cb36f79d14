"""A wheel made of this checkout, and an environment in which it is installed beside the PyTorch of the tests."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

from .tree import ROOT

#: What must not be seen of the checkout that the wheel was made of.
HIDDEN = ("PYTHONPATH", "JITC_CACHE", "JITC_SOCKET", "LD_PRELOAD", "VIRTUAL_ENV", "CXX", "XDG_CACHE_HOME")


def made(out: Path, releases: str = "") -> Path:
    """Makes wheel, source distribution and the files beside them in a folder, with parts for these releases of PyTorch.
    Returns the wheel."""
    command = [sys.executable, str(ROOT / "scripts/wheel/make.py"), "--releases", releases, "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False, env=environment())
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = out.glob("*.whl")
    return wheel


def environment(**changes: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in HIDDEN} | changes


def installed(folder: Path, wheel: Path, torch: bool = True) -> Path:
    """Installs the wheel into a new environment. Returns its folder of programs. torch: what this environment has
    beside jitc can be imported there as well."""
    venv.create(folder, with_pip=True, symlinks=True)
    (packages,) = folder.glob("lib/python3.*/site-packages")
    if torch:
        (ours,) = {str(Path(one)) for one in sys.path if one.endswith("site-packages")}
        (packages / "beside.pth").write_text(ours + "\n")  # without what lies there in .pth files: jitc's checkout
    words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index", str(wheel)]
    subprocess.run([str(folder / "bin" / "python"), *words], check=True, timeout=300, env=environment())
    return folder / "bin"
