"""A Debian of one's own in a folder, by debootstrap, from where this machine gets its packages."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from .waiting import patient

BASE_SECONDS = 900.0


def why_not() -> str:
    """Returns why none can be made here; empty: one can."""
    if os.getuid() != 0:
        return "only root makes a Debian in a folder"
    return "" if shutil.which("debootstrap") else "there is no debootstrap"


def make(root: Path, suite: str, *packages: str) -> None:
    """Makes the smallest one with these packages. Skips the test where that fails."""
    said = root.with_suffix(".log")
    command = ["debootstrap", "--variant=minbase", f"--include={','.join(packages)}", suite, str(root), _mirror()]
    with said.open("wb") as output:
        done = subprocess.run(command, stdout=output, stderr=output, timeout=patient(BASE_SECONDS), check=False)
    if done.returncode:
        pytest.skip(f"no Debian {suite} can be made here: {said.read_text()[-500:]}")


def run(root: Path, *command: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Runs a command in it, which sees nothing else of this machine's files, and no other environment."""
    words = [f"{name}={value}" for name, value in {"PATH": "/usr/bin:/bin", "HOME": "/root", **environ}.items()]
    return subprocess.run(
        ["chroot", str(root), "env", "-i", *words, *command], capture_output=True, text=True, timeout=patient(120),
        check=False,
    )  # fmt: skip


def _mirror() -> str:
    for one in [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")]:
        if one.is_file() and (found := re.search(r"^(?:URIs:|deb)\s+(\S+/debian)/?\s", one.read_text(), re.MULTILINE)):
            return found[1]
    return "http://deb.debian.org/debian"
