"""Which programs a commit draws in the quick tests: others than the commit before. Called by: tests."""

from __future__ import annotations

import subprocess

from toolkit.job import ROOT

#: How many, and the first one's seed where there is no history.
COUNT, FIRST = 20, 0


def of_this_commit() -> range:
    said = subprocess.run(
        ["git", "rev-list", "--count", "HEAD"], cwd=ROOT, check=False, capture_output=True, text=True
    ).stdout.strip()
    first = int(said) * COUNT if said.isdigit() else FIRST
    return range(first, first + COUNT)
