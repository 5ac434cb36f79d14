"""The README's first lines, as they stand there, typed into a shell: a service, a program, a fault.

Installing the wheel, the first of them, is test_wheel.py's.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable

from toolkit.job import ROOT, Script
from toolkit.jobs import JOBS
from toolkit.pace import PACE, PACED, Pace
from toolkit.record import Record, assert_identical, read_records
from toolkit.service import BIN
from toolkit.waiting import until
from toolkit.workplace import Workplace

SCRIPT = JOBS["gpt"]
KILLED_AFTER = 2
#: The user's train.py: an example, which stands still where the test wants it to.
TRAIN = f"""
import runpy, sys
script = {str(ROOT / "examples" / SCRIPT.name)!r}
sys.argv = ["", script, "--device", "cuda", *{SCRIPT.arguments!r}, "--json", "record.json"]
sys.path.insert(0, {str((ROOT / PACED[0]).parent)!r})
runpy.run_path({str(ROOT / PACED[0])!r}, run_name="__main__")
"""


def first_lines() -> list[str]:
    """The commands of the README's first block, without what is said beside them."""
    block = re.search(r"\n\n((?: {4}.*\n)+)", (ROOT / "README.md").read_text())
    assert block is not None
    return [re.sub(r" +# .*", "", line.strip()) for line in block[1].splitlines()]


def test_the_first_lines(workplace: Workplace, reference: Callable[[Script, str], list[Record]]) -> None:
    install, run, fault = first_lines()
    assert install.startswith("pip install 'jitc[torch]'")
    folder = workplace.folder
    (folder / "train.py").write_text(TRAIN)
    pace = Pace(folder / "pace", SCRIPT.ranks)
    pace.grant(KILLED_AFTER)
    paths = {
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "JITC_SOCKET": str(folder / "proxyd.sock"),
        PACE: str(folder / "pace"),
    }
    with (folder / "log").open("w") as log:
        shell = subprocess.Popen(
            ["bash"],
            cwd=folder,
            env={**workplace.env, **paths},
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            text=True,
        )
    assert shell.stdin is not None
    print(run, file=shell.stdin, flush=True)
    until(pace.waits, 120, "the job has made its first steps")
    print(fault, file=shell.stdin, flush=True)
    until(lambda: "kill-worker" in (folder / "log").read_text(), 60, "the fault was injected")
    pace.grant(int(SCRIPT.arguments[1]))
    shell.communicate("wait $!; jitc report --json >report.json; kill %1; wait %1\n", timeout=240)
    assert shell.returncode == 0, (folder / "log").read_text()
    recoveries = json.loads((folder / "report.json").read_text())["recoveries"]
    assert [(one["cause"], one["outcome"]) for one in recoveries] == [("worker-death", "recovered")]
    assert_identical(read_records(folder), reference(SCRIPT, "cuda"))
