"""python -m soak.grammar.script.forge: ranks of many programs, from a process that has loaded PyTorch.

Called by: forge_client.py. Reads a JSON object per line ({"program", "folder", "ranks", "faults"}) on standard input,
forks the ranks before CUDA was used, and writes lines: {"started": [pids]}, {"at": [rank, iteration]}, {"ended": [exit
statuses]}. Promises: when a rank fails the others are ended, as by a launcher; what a rank says is in the folder.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import sys
import tempfile
import threading
import traceback
from pathlib import Path
from typing import Any

import torch
import torch._dynamo  # what optimizers load at first use
import torch.distributed as dist
from torch.utils.data import DataLoader  # noqa: F401

from soak.grammar.script.run import run

ENDING_SECONDS = 5.0


def say(document: Any) -> None:
    """One write, so that lines of ranks do not mix."""
    os.write(1, (json.dumps(document) + "\n").encode())


def rank_of(asked: dict[str, Any], rank: int) -> int:
    """Runs as a process of its own; its exit status."""
    folder = Path(asked["folder"])
    ranks = str(asked["ranks"])
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": ranks}
    tempfile.tempdir = str(folder)  # sockets of data loaders' workers
    lines = os.dup(1)
    log = os.open(folder / f"rank{rank}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for descriptor in (1, 2):
        os.dup2(log, descriptor)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

    def tell(iteration: int) -> None:
        os.write(lines, (json.dumps({"at": [rank, iteration]}) + "\n").encode())

    try:
        run(Path(asked["program"]), folder, rank, tell if asked["faults"] else None)
    except Exception:
        traceback.print_exc()
        return 1
    return 0


def wait(pids: list[int]) -> list[int]:
    """The exit statuses, by rank; when one fails the others are ended, with SIGKILL if they do not end by SIGTERM."""
    statuses: dict[int, int] = {}

    def end(number: int) -> None:
        for pid in [one for one in pids if one not in statuses]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    timer = threading.Timer(ENDING_SECONDS, end, (signal.SIGKILL,))
    while len(statuses) < len(pids):
        pid, status = os.waitpid(-1, 0)
        if pid in pids:
            statuses[pid] = os.waitstatus_to_exitcode(status)
            if statuses[pid] and len(statuses) < len(pids) and not timer.is_alive():
                end(signal.SIGTERM)
                timer.start()
    timer.cancel()
    return [statuses[one] for one in pids]


def main() -> int:
    assert dist.is_available() and not torch.cuda.is_initialized()
    gc.collect()
    gc.freeze()  # what is loaded is nothing for collections in the ranks: their ends would take a second each
    say({"ready": os.getpid()})
    for line in sys.stdin:
        asked = json.loads(line)
        pids = []
        for rank in range(asked["ranks"]):
            pid = os.fork()
            if not pid:
                return rank_of(asked, rank)
            pids.append(pid)
        say({"started": pids})
        say({"ended": wait(pids)})
    return 0


if __name__ == "__main__":
    sys.exit(main())
