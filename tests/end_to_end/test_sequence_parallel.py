"""Attention over a sequence that ranks share is what it is on one rank: PyTorch's context parallel, rings of sends and
receives, Ulysses' exchange of heads, trees, and pages, merged by the log-sum-exp. Forward and backward, also when a
worker is lost."""

from __future__ import annotations

import pytest
from toolkit.forge_client import run_python
from toolkit.job import PRELOAD, ROOT
from toolkit.service import Service, kill_at
from toolkit.workplace import Workplace

PROGRAM = ROOT / "tests" / "end_to_end" / "sequence_parts.py"
SECONDS = 150.0
STEPS = 6
#: The largest relative error of output and gradients. Of float64 it is that of the log-sum-exp, which is of float32.
BOUNDS = {"torch.bfloat16": 5e-3, "torch.float32": 1e-6, "torch.float64": 1e-6}
WAYS = {"context default", "context allgather", "context alltoall", "ulysses", "ring", "tree", "pages"}


def said(service: Service, ranks: int, what: str) -> list[str]:
    environment = service.env | {"LD_PRELOAD": str(PRELOAD)}
    done = run_python([str(PROGRAM), what], environment, SECONDS, ranks=ranks)
    assert done.returncode == 0, done.stderr[-6000:]
    return sorted(done.stdout.splitlines())


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
