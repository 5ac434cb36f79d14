"""Tells how jitc has been installed here, and with that what mends it.

Called by: whoever finds a part of jitc missing. Promise: nobody without a checkout is told to run `make build`.
"""

from __future__ import annotations

from pathlib import Path

#: The folder of jitc's packages: a checkout's, or `jitc` among the installed ones. The layout below it is the same.
PACKAGES = Path(__file__).resolve().parents[2]


def is_checkout() -> bool:
    return (PACKAGES / "Makefile").is_file() and (PACKAGES / "CMakeLists.txt").is_file()


def remedy() -> str:
    """Returns what to do where a part of jitc is missing or broken."""
    if is_checkout():
        return "run `make build`"
    return f"run `{'apt-get install --reinstall' if _by_debian() else 'pip install --force-reinstall'} jitc`"


def _by_debian() -> bool:
    """Returns whether the Debian package has put jitc here (scripts/deb): its record of the installer says so."""
    named = PACKAGES.parent.glob("jitc-*.dist-info/INSTALLER")
    return any(one.read_text(errors="replace").strip() == "debian" for one in named)
