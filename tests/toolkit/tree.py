"""The files of the repository, and which state of them this is.

Called by: tests that look at the tree itself; what writes down results, tests and benchmarks alike. Promise: what git
has, and is there.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def tracked(*patterns: str) -> list[Path]:
    """Of all folders; without a pattern every file."""
    listing = subprocess.run(["git", "ls-files", "--", *patterns], cwd=ROOT, check=True, capture_output=True, text=True)
    return [ROOT / line for line in listing.stdout.splitlines() if (ROOT / line).is_file()]


def commit() -> str:
    """What results are of; with `-dirty` at its end where files have been changed. "none" where git knows nothing."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True).stdout.strip() or "none"
