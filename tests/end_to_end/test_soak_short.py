"""A short part of `make soak`: one program, one seed of each set of options."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from toolkit.job import ROOT, run_command


def test_one_round_of_one_program(tmp_path: Path) -> None:
    results = tmp_path / "soak.json"
    command = [sys.executable, str(ROOT / "scripts" / "soak.py"), "--only", "pinned-killed$", "--rounds", "1"]
    done = run_command([*command, "--json", str(results)], timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(results.read_text())
    assert document["failed"] == 0 and document["passed"] == len(document["runs"]) > 1
    reference, *runs = document["runs"]
    assert reference["options"] == "" and all(one["options"] and one["seed"] == 1 for one in runs)
    assert "0 failed" in done.stdout
