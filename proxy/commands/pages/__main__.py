"""`python -m jitc.proxy.commands.pages [--check]`: writes, or compares, the pages made from the parsers.

Called by: the build's check of generated files (`--check`: exit status 1 if one is out of date), developers.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from .. import jitc, proxyd
from . import tables
from .manual import manual

ROOT = Path(__file__).resolve().parents[3]
PAGE, MANUALS = ROOT / "docs" / "cli.md", ROOT / "docs" / "man"


def outputs() -> dict[Path, str]:
    """Returns each file with its text."""
    os.environ["COLUMNS"] = "80"
    parsers = {one.prog: one for one in (proxyd.parser(), jitc.parser())}
    found = {MANUALS / f"generated_{name}.1": manual(one) for name, one in parsers.items()}
    return found | {PAGE: tables.page(PAGE.read_text(), parsers)}


def main(arguments: list[str] | None = None) -> int:
    options = argparse.ArgumentParser(prog="python -m jitc.proxy.commands.pages", description=__doc__)
    options.add_argument("--check", action="store_true", help="compare only; exit 1 when a file is out of date")
    check = options.parse_args(arguments).check
    made = outputs()
    stale = [path for path, text in made.items() if not path.exists() or path.read_text() != text]
    for path in stale:
        print(f"{'out of date' if check else 'wrote'}: {path.relative_to(ROOT)}")
        if not check:
            path.write_text(made[path])
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
