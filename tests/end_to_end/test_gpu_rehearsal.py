"""A whole rehearsal of the check on a GPU (scripts/gpu_rehearsal.py), with the strictest stand-ins of tests/fakes.

Nothing here says anything about a real GPU.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from toolkit.job import ROOT
from toolkit.leaks import MARK, marked_processes, new_mark


@pytest.mark.slow
def test_the_whole_rehearsal(tmp_path: Path) -> None:
    """`make gpu-check REHEARSE=stand-ins`: what needs no PyTorch passes with the strictest stand-ins, the rest says why
    it was not run, and the time is printed."""
    command = [sys.executable, str(ROOT / "scripts" / "gpu_rehearsal.py")]
    mark = new_mark()
    done = subprocess.run(
        command, env=os.environ | {"OUT": str(tmp_path), MARK: mark}, capture_output=True, text=True,
        timeout=480, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done
    (path,) = tmp_path.glob("*.json")
    document = json.loads(path.read_text())
    assert document["complete"] and document["rehearsal"]
    found = {one["name"]: (one["verdict"], one["reason"]) for one in document["steps"]}
    passed = ("preflight", "environment", "smallest_program", "costs", "driver_job")
    assert all(found.pop(name) == ("passed", "") for name in passed), done
    reasons = [reason for verdict, reason in found.values() if verdict == "not run"]
    assert len(reasons) == len(found), found
    on_request = reasons.count("not asked for (--steps)")
    assert sum("stand-ins" in one for one in reasons) == len(reasons) - on_request, found
    assert re.search(rf"^{len(document['steps']) - on_request} steps in \d+ s$", done.stdout, re.MULTILINE)
    assert not marked_processes(mark)
