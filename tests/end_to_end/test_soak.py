"""2,000 steps with a worker killed every 100: memory, descriptors and mappings flat, nothing lost, nothing left."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest
from toolkit.job import Script
from toolkit.leaks import marked_processes
from toolkit.record import assert_identical
from toolkit.service import kill_at
from toolkit.waiting import until
from toolkit.workplace import Workplace

STEPS, EVERY = 2000, 100
SCRIPT = Script("train_gpt.py", ("--steps", str(STEPS), "--layers", "1", "--width", "32", "--batch", "2"))
#: Growth from the first kills to the last that is no leak, by what is measured: allocator slack, channels of gRPC.
SLACK = {"bytes": 16 << 20, "descriptors": 8, "memfds": 2, "mappings": 24}
#: Kinds of processes, and words of their commands.
KINDS = {
    "service": "/jitc-proxyd ", "keeper": "jitc.proxy.keeper", "worker": "jitc.proxy.worker",
    "client": "train_gpt",
}  # fmt: skip


def resident(pid: int) -> int:
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return sum(int(fields[name].split()[0]) for name in ("RssAnon", "RssShmem")) * 1024


def held(pid: int) -> dict[str, int]:
    """What the process has now; nothing when it has just ended."""
    with contextlib.suppress(OSError):
        links = [os.readlink(one) for one in Path(f"/proc/{pid}/fd").iterdir()]
        mappings = Path(f"/proc/{pid}/maps").read_text().count("\n")
        memfds = sum("/memfd:" in one for one in links)
        return {"bytes": resident(pid), "descriptors": len(links), "memfds": memfds, "mappings": mappings}
    return dict.fromkeys(SLACK, 0)


def measured(place: Workplace) -> dict[tuple[str, str], int]:
    """Of each kind of process, the most that one of it has."""
    most = {(kind, what): 0 for kind in KINDS for what in SLACK}
    for pid, command in marked_processes(place.mark).items():
        for kind in [one for one, words in KINDS.items() if words in command]:
            for what, count in held(pid).items():
                most[kind, what] = max(most[kind, what], count)
    return most


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_soak(workplace: Workplace) -> None:
    quiet = workplace.service(2)
    expected = workplace.run(SCRIPT, quiet, 900).records
    service = workplace.service(2)
    job = workplace.job(SCRIPT, service, before=("env",))  # not forked: its processes have commands of their own
    samples = []
    kills = range(EVERY, STEPS, EVERY)
    for number, boundary in enumerate(kills, 1):
        service.inject(kill_at(boundary, ("forward", "backward", "optimizer")[number % 3], 3), number % 2)
        done = until(lambda b=boundary: job.steps() > b + 2 or job.process.poll() is not None, 300, f"step {boundary}")
        assert done
        assert job.process.poll() is None, job.output()[-4000:]
        samples.append(measured(workplace))
    result = job.finish(900).successful()
    assert_identical(result.records, expected)
    service.survived(len(kills))
    for kind, what in samples[0]:
        counts = [one[kind, what] for one in samples]
        assert max(counts) or what != "bytes", f"no {kind} was seen"
        assert max(counts[-3:]) - max(counts[2:5]) < SLACK[what], f"{what} of the {kind} grew: {counts}"
