"""Attention over a sequence that ranks share is what it is on one rank: PyTorch's context parallel, rings of sends and
receives, Ulysses' exchange of heads, trees, and pages, merged by the log-sum-exp. Forward and backward, also when a
worker is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from toolkit.forge_client import run_python
from toolkit.job import PRELOAD, ROOT
from toolkit.kills import Killer
from toolkit.lockstep import Lockstep
from toolkit.service import Service, kill_at
from toolkit.workplace import Workplace

PROGRAM = ROOT / "tests" / "end_to_end" / "sequence_parts.py"
SECONDS = 150.0
STEPS = 6
#: The largest relative error of output and gradients. Of float64 it is that of the log-sum-exp, which is of float32.
BOUNDS = {"torch.bfloat16": 5e-3, "torch.float32": 1e-6, "torch.float64": 1e-6}
WAYS = {"context default", "context allgather", "context alltoall", "ulysses", "ring", "tree", "pages"}
#: Of passes with an optimizer step, one way after the other.
PASSED = ("context allgather", "context alltoall", "ulysses", "ring", "tree", "pages")
Start = Callable[..., Lockstep]


def said(service: Service, ranks: int, what: str) -> list[str]:
    environment = service.env | {"LD_PRELOAD": str(PRELOAD)}
    done = run_python([str(PROGRAM), what], environment, SECONDS, ranks=ranks)
    assert done.returncode == 0, done.stderr[-6000:]
    return sorted(done.stdout.splitlines())


@pytest.mark.sampled
@pytest.mark.parametrize("ranks", [2, 4])
def test_it_is_as_on_one_rank(workplace: Workplace, ranks: int) -> None:
    service = workplace.service(ranks)
    found = [line.split(": ") for line in said(service, ranks, "compare")]
    assert {name.rsplit(" ", 2)[0] for name, _ in found} == WAYS
    assert [(name, far) for name, far in found if float(far) > BOUNDS[name.rsplit(" ", 1)[1]]] == []
    assert service.report() == []


def test_a_worker_is_lost(workplace: Workplace) -> None:
    service = workplace.service(2)
    expected = said(service, 2, "train")
    assert len(set(expected)) == len(expected) == 2 * STEPS
    assert service.report() == []
    faults = {0: kill_at(2, "backward", 20), 1: kill_at(4, "forward", 30)}
    for gpu, fault in faults.items():
        service.inject(fault, gpu)
    assert said(service, 2, "train") == expected
    service.survived(len(faults))
    assert len(service.injected()) == len(faults)


class Passes:
    """The ranks of a job that makes a pass in the way that it is told."""

    def __init__(self, start: Start, service: Service, folder: Path, ranks: int, kernel: str) -> None:
        folder.mkdir()
        self._ranks = [start(service, PROGRAM, "passes", rank, ranks, folder, kernel) for rank in range(ranks)]
        self.said: list[tuple[str, str]] = []  # way, hash

    def make(self, way: str) -> None:
        for one in self._ranks:
            one.tell(way)
        answers = {one.answer() for one in self._ranks}
        assert len(answers) == 1 and all(answers), [one.finish() for one in self._ranks]
        self.said.append((way, answers.pop()))

    def finish(self) -> list[tuple[str, str]]:
        for one in self._ranks:
            one.close()
        assert [one.finish()[0] for one in self._ranks] == [0] * len(self._ranks)
        return self.said


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("kernel", "ranks"),
    [
        ("efficient", 2),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in (("flash", 2), ("cudnn", 2), ("flash", 4))),
    ],
)
def test_each_rank_is_killed_in_each_way(
    workplace: Workplace, start: Start, tmp_path: Path, kernel: str, ranks: int
) -> None:
    """kill -9, at any time of a pass."""
    service = workplace.service(ranks)
    struck = Passes(start, service, tmp_path / "struck", ranks, kernel)
    for seed, way in enumerate(PASSED):
        with Killer(service, tuple(range(ranks)), seed) as killer:
            for _ in killer.rounds():
                struck.make(way)
    found = struck.finish()
    assert len({one for _, one in found}) == len(found)
    assert [one["outcome"] for one in service.report()] == ["recovered"] * ranks * len(PASSED)
    calm = Passes(start, service, tmp_path / "calm", ranks, kernel)
    for way, _ in found:
        calm.make(way)
    assert calm.finish() == found
    assert not service.divergences()
