"""A worker process for tests that kill it: runs a job of job_rig in memory that the test holds.

Started as: python executor_child.py REQUEST_JSON SEED STEPS [FAULT_JSON]. Writes one byte to stdout per
minibatch sent; to stderr, which fault fired.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # the toolkit

from executor_rig import Client, Control, make_executor
from job_rig import make_job


class Telling(Control):
    def fault_fired(self, number: int, detail: str) -> None:
        os.write(2, detail.encode() + b"\n")


def main() -> None:
    request, seed, steps = json.loads(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    executor = make_executor(Telling())
    executor.open_session(request)
    for fault in sys.argv[4:]:
        executor.command("Arm", {"session": 1, "fault": json.loads(fault)})
    client = Client(executor)
    client.attach()
    job = make_job(seed)
    job.begin(client)
    for _ in range(steps):
        job.minibatch(client)
        client.flush()
        os.write(1, b".")
        while client.poll():
            pass
    client.wait(lambda: False, seconds=60)  # the test kills it


if __name__ == "__main__":
    main()
