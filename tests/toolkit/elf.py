"""What a library needs of the system that it runs on, as readelf says it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

#: The C++ library of Red Hat 9, the oldest beside glibc 2.34.
RED_HAT_9 = (3, 4, 29)

Version = tuple[int, ...]


def needed_versions(library: Path, kind: str) -> set[Version]:
    """kind: GLIBC, GLIBCXX, CXXABI."""
    found = re.findall(rf"Name: {kind}_([\d.]+)", _said("-V", library))
    return {tuple(int(one) for one in number.split(".")) for number in found}


def needed_libraries(library: Path) -> set[str]:
    return set(re.findall(r"NEEDED.*\[(.+)\]", _said("-d", library)))


def _said(option: str, library: Path) -> str:
    command = ["readelf", option, str(library)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
