"""python run.py PROGRAM.json FOLDER [quiet|struck]: one rank of a program (RANK), as a launcher starts it.

Called by: pool.py, with the last word; people. Promises: it is an ordinary program of PyTorch; it writes rankN.json
with the losses, and hashes of weights, optimizer state and all else, to FOLDER. With the last word FOLDER has what it
prints, too. A struck rank says where it is, as JSON lines ([rank, iteration]) on the standard output that it was given,
and waits before an iteration in which a fault is to be armed until FOLDER has a file that says so.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from soak.grammar.script import beside, children, exchange, learning, memory, messages, threads
from soak.grammar.script.job import Job, Part, write

KINDS: dict[str, type[Part]] = {
    "learn": learning.Learn, "checkpoint": learning.Checkpoint, "graph": learning.Graph,
    "pipeline": exchange.Pipeline, "actor": exchange.Actor, "collect": exchange.Collect, "group": exchange.Group,
    "talk": messages.Talk, "ahead": messages.Ahead,
    "threads": threads.Threads, "child": children.Child,
    "attend": beside.Attend, "evaluate": beside.Evaluate, "thread": beside.Thread, "streams": beside.Streams,
    "buffer": memory.Buffer, "offload": memory.Offload, "allocator": memory.Allocator,
}  # fmt: skip
LOOK_SECONDS = 0.002
INJECT = "inject"
never = threading.Event()


def run(path: Path, folder: Path, rank: int, tell: Callable[[int], None] | None = None) -> None:
    """tell: is told each iteration before it begins; then faults are waited for too."""
    program: dict[str, Any] = json.loads(path.read_text())
    early = {
        number: KINDS[one["kind"]].begin(program, rank, number)
        for number, one in enumerate(program["parts"])
        if rank in one["ranks"]
    }
    job = Job(program, rank, folder, early)
    parts = [KINDS[one["kind"]](job, number, one) for number, one in enumerate(program["parts"])]
    mine = [one for one in parts if one.member or one.everyone]
    for iteration in range(program["iterations"]):
        if tell:
            tell(iteration)
            wait_for_faults(program, folder, rank, iteration)
        for one in mine:
            if iteration % one.every == 0:
                one.iterate(iteration)
    members = [one for one in parts if one.member]
    for one in members:
        one.finish()
    write(folder, rank, [{"part": one.number, **one.record()} for one in members])
    wait_for_others(job)
    job.close()


def wait_for_others(job: Job) -> None:
    """No rank ends before all have what they computed: with one that has ended nothing can be run again."""
    while not all((job.folder / f"rank{rank}.json").exists() for rank in range(job.ranks)):
        never.wait(LOOK_SECONDS)


def wait_for_faults(program: dict[str, Any], folder: Path, rank: int, iteration: int) -> None:
    for number, one in enumerate(program["faults"]):
        if (one["what"], one["rank"], one["iteration"]) == (INJECT, rank, iteration):
            while not (folder / f"armed.{number}").exists():
                never.wait(LOOK_SECONDS)


def into_folder(folder: Path, rank: int) -> Callable[[int], None]:
    """What it prints, and the sockets of data loaders' workers; gives what tells of an iteration where it printed."""
    tempfile.tempdir = str(folder)
    lines = os.dup(1)
    log = os.open(folder / f"rank{rank}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for descriptor in (1, 2):
        os.dup2(log, descriptor)

    def tell(iteration: int) -> None:
        """One write, so that lines of ranks do not mix."""
        os.write(lines, (json.dumps([rank, iteration]) + "\n").encode())

    return tell


def main(program: str, folder: str, how: str = "") -> None:
    rank = int(os.environ.get("RANK", "0"))
    tell = into_folder(Path(folder), rank) if how else None
    run(Path(program), Path(folder), rank, tell if how == "struck" else None)


if __name__ == "__main__":
    main(*sys.argv[1:])
