"""A browser without a window, where the machine has one.

Called by: tests of pages. Promise: a test without a browser is skipped with the reason, and a browser that was started
is gone with the call; it loads nothing from a network.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
)  # fmt: skip
SECONDS = 120.0


def browser() -> str:
    """Its path. Skips the test where there is none."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("no Chromium on this machine (Debian's package is called chromium)")
    return found


def _ask(page: Path, profile: Path, *options: str) -> str:
    command = [browser(), *QUIET, f"--user-data-dir={profile}", *options, page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True)
    return done.stdout


def rendered(page: Path, profile: Path) -> str:
    """The page as the browser understood it, as HTML again."""
    return _ask(page, profile, "--dump-dom")


def screenshot(page: Path, profile: Path, file: Path, width: int, height: int) -> None:
    _ask(page, profile, f"--screenshot={file}", f"--window-size={width},{height}")
