"""`python -m jitc.proxy.status [--check]`: writes, or compares, the files generated from the model.

Called by: the build's check of generated files (`--check`: exit status 1 if one is out of date), developers.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import schema, tables
from .cluster import Cluster
from .demo import Demo
from .doctor import Doctor
from .node import Status
from .report import Divergence, Injected, Race, Recovery, Report, Validation
from .support import SupportBundle
from .version import Version

FOLDER = Path(__file__).resolve().parent
PAGE = FOLDER.parents[1] / "docs" / "cli.md"
#: Documents of commands, by the command.
DOCUMENTS: dict[str, type] = {
    "status": Status, "report": Report, "validate": Validation, "version": Version, "support-bundle": SupportBundle,
    "demo": Demo, "doctor": Doctor, "cluster": Cluster,
}  # fmt: skip
#: The command, where its name is not that of the document.
COMMANDS = {"cluster": "cluster show"}
#: Tables of the page, by the name in their marks.
TABLES: dict[str, type] = {
    "status": Status, "recoveries": Recovery, "validations": Validation, "divergences": Divergence, "races": Race,
    "injected": Injected, "version": Version, "support-bundle": SupportBundle, "demo": Demo, "doctor": Doctor,
    "cluster": Cluster,
}  # fmt: skip


def outputs() -> dict[Path, str]:
    """Returns each file with its text."""
    found = {
        FOLDER / f"generated_{name}.schema.json": schema.schema(model, f"jitc {COMMANDS.get(name, name)} --json")
        for name, model in DOCUMENTS.items()
    }
    return found | {PAGE: tables.page(PAGE.read_text(), TABLES)}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m jitc.proxy.status", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 when a file is out of date")
    check = parser.parse_args(arguments).check
    stale = [path for path, text in outputs().items() if not path.exists() or path.read_text() != text]
    for path in stale:
        print(f"{'out of date' if check else 'wrote'}: {path.relative_to(FOLDER.parents[1])}")
        if not check:
            path.write_text(outputs()[path])
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
