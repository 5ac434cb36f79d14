"""How large a wheel is, and which one is too large.

    sizes.py WHEEL

Called by: make.py, and by hand. Promise: what is printed was measured: the wheel, all that it installs, the library
that programs preload, and each native part. A wheel above a limit ends it in one line.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

MB = 1_000_000
WHEEL, INSTALLED, PRELOADED = "wheel", "installed", "preloaded library"
#: Bytes that there may be of each (docs/installation.md).
LIMITS = {WHEEL: 8 * MB, INSTALLED: 20 * MB, PRELOADED: 3 * MB // 2}
_LIBRARY = "jitc/interpose/lib/libjitc_interpose.so"
_PARTS = "jitc/client_shim/lib/parts/"


class TooLarge(Exception):
    """One line that says what is too large."""


def measured(wheel: Path) -> dict[str, int]:
    """Returns the bytes of the wheel, of what it installs, and of its parts. Raises OSError, zipfile.BadZipFile."""
    with zipfile.ZipFile(wheel) as contents:
        files = {one.filename: one.file_size for one in contents.infolist()}
    sizes = {WHEEL: wheel.stat().st_size, INSTALLED: sum(files.values()), PRELOADED: files[_LIBRARY]}
    for name, size in files.items():
        if name.startswith(_PARTS):
            part = f"part {name.removeprefix(_PARTS).partition('/')[0]}"
            sizes[part] = sizes.get(part, 0) + size
    return sizes


def show(wheel: Path) -> None:
    """Prints the sizes. Raises TooLarge, and what `measured` raises."""
    sizes = measured(wheel)
    for what, size in sizes.items():
        limit = f" (at most {LIMITS[what] / MB:g})" if what in LIMITS else ""
        print(f"   {size / MB:6.2f} MB  {what}{limit}", flush=True)
    over = [f"{what} {size / MB:.2f} MB" for what, size in sizes.items() if size > LIMITS.get(what, size)]
    if over:
        remedy = "make it smaller, or raise LIMITS of scripts/wheel/sizes.py"
        raise TooLarge(f"{wheel.name} is larger than it may be: {', '.join(over)}; {remedy}")


if __name__ == "__main__":
    try:
        show(Path(sys.argv[1]))
    except TooLarge as error:
        sys.exit(str(error))
