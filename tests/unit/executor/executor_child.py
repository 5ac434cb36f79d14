"""A worker process for tests that kill it: runs the job of executor_job in memory that the test holds.

Started as: python executor_child.py REQUEST_JSON SEED STEPS. Writes one byte to stdout per minibatch sent.
"""

from __future__ import annotations

import json
import os
import sys

from executor_job import Job
from executor_rig import Client, make_executor


def main() -> None:
    request, seed, steps = json.loads(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    executor = make_executor()
    executor.open_session(request)
    client = Client(executor)
    client.attach()
    job = Job(seed)
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
