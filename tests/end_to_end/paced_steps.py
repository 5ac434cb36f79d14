"""Runs a training script, each step of which waits until it is granted, so that a test knows where the job is.

python paced_steps.py SCRIPT [ARGUMENTS...]

PACE (toolkit.pace.Pace) names the folder: "granted" has the number of steps that may be made; a rank that has
made them writes that number to a file of its own. Without PACE the script runs as it is. EVALUATE: evaluating_steps.py.
"""

from __future__ import annotations

import os
import runpy
import sys
import threading
from pathlib import Path
from typing import Any

from evaluating_steps import slow_down

LOOK_SECONDS = 0.005
never = threading.Event()


def wait(folder: Path, rank: int, steps: int) -> None:
    """Until more steps are granted than these."""
    mine = folder / f"made.rank{rank}"
    told = False
    while int((folder / "granted").read_text()) <= steps:
        if not told:
            part = folder / f"{mine.name}.part"  # ranks write at the same time
            part.write_text(str(steps))
            os.replace(part, mine)
            told = True
        never.wait(LOOK_SECONDS)


def pace(folder: Path) -> None:
    """The examples report each step that they have made to their Job."""
    from common import Job

    step_done = Job.step_done

    def paced(job: Any, loss: float) -> None:
        step_done(job, loss)
        if len(job.losses) < job.args.steps:
            wait(folder, job.rank, len(job.losses))

    Job.step_done = paced


def main() -> None:
    sys.argv = sys.argv[1:]
    script = os.path.abspath(sys.argv[0])
    sys.path.insert(0, os.path.dirname(script))
    if "PACE" in os.environ:
        pace(Path(os.environ["PACE"]))
    if "EVALUATE" in os.environ:  # after the wait: it is one of the steps that were granted then
        slow_down(os.environ["EVALUATE"])
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
