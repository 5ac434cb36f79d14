"""2,000 steps with a worker killed every 100: memory flat, nothing lost, nothing left."""

from __future__ import annotations

from pathlib import Path

import pytest
from toolkit.job import Script
from toolkit.leaks import marked_processes
from toolkit.record import assert_identical
from toolkit.service import Service, kill_at
from toolkit.waiting import until
from toolkit.workplace import Workplace

STEPS, EVERY = 2000, 100
SCRIPT = Script("train_gpt.py", ("--steps", str(STEPS), "--layers", "1", "--width", "32", "--batch", "2"))
#: Growth from the first kills to the last that is no leak: caches, allocator slack.
SLACK = 48 << 20


def resident(pid: int) -> int:
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return sum(int(fields[name].split()[0]) for name in ("RssAnon", "RssShmem")) * 1024


def memory(place: Workplace, service: Service) -> dict[str, int]:
    """Resident bytes: the service, the largest worker, the largest training process."""
    sizes = {"service": resident(service.process.pid), "worker": 0, "client": 0}
    for pid, command in marked_processes(place.mark).items():
        kind = "worker" if "jitc.proxy.worker" in command else "client" if "train_gpt" in command else ""
        if kind:
            sizes[kind] = max(sizes[kind], resident(pid))
    return sizes


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_soak(workplace: Workplace) -> None:
    quiet = workplace.service(2)
    expected = workplace.run(SCRIPT, quiet, 900).records
    service = workplace.service(2)
    job = workplace.job(SCRIPT, service)
    samples = []
    kills = range(EVERY, STEPS, EVERY)
    for number, boundary in enumerate(kills, 1):
        service.inject(kill_at(boundary, ("forward", "backward", "optimizer")[number % 3], 3), number % 2)
        done = until(lambda b=boundary: job.steps() > b + 2 or job.process.poll() is not None, 300, f"step {boundary}")
        assert done
        assert job.process.poll() is None, job.output()[-4000:]
        samples.append(memory(workplace, service))
    result = job.finish(900).successful()
    assert_identical(result.records, expected)
    service.survived(len(kills))
    for what in samples[0]:
        early, late = max(one[what] for one in samples[2:5]), max(one[what] for one in samples[-3:])
        assert late - early < SLACK, f"memory of the {what} grew: {[one[what] >> 20 for one in samples]} MiB"
