"""A short part of `make soak`: one program, one seed."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from toolkit.job import ROOT, run_command


def test_one_round_of_one_program(tmp_path: Path) -> None:
    """A program without faults, then with three workers killed while everything comes late."""
    results = tmp_path / "soak.json"
    chosen = ["--only", "pinned-killed", "--ways", "shuffle", "--rounds", "1", "--json", str(results)]
    env = {"PYTHONPATH": str(ROOT / "tests")}
    done = run_command([sys.executable, "-m", "soak", *chosen], env={**os.environ, **env}, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(results.read_text())
    assert (document["passed"], document["failed"]) == (2, 0)
    assert [(one["way"], one["seed"]) for one in document["runs"]] == [("plain", None), ("shuffle", 1)]
    assert "2 runs, 0 failed" in done.stdout
