"""Models compiled in each way that PyTorch offers, on the software device: the results are those without compiling, and
the same to the last bit in a second run in which workers are lost."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from toolkit.inductor import QUICK
from toolkit.job import PRELOAD, run_command
from toolkit.service import Service, kill_at
from toolkit.workplace import Workplace

PROGRAM = Path(__file__).with_name("compiled_models.py")
#: A compiler takes long on a small machine that has other things to do.
SECONDS = 500.0
SLOW = (
    "any_size", "attention", "autotuned", "broken", "in_bfloat16", "one_graph", "own_gradient", "pictures", "scattered",
    "whole_step",
)  # fmt: skip


def say(service: Service, cache: Path, *arguments: str) -> list[str]:
    environment = service.env | QUICK | {"TORCHINDUCTOR_CACHE_DIR": str(cache), "LD_PRELOAD": str(PRELOAD)}
    done = run_command([sys.executable, str(PROGRAM), *arguments], environment, SECONDS)
    assert done.returncode == 0, done.stderr[-6000:]
    return done.stdout.splitlines()


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["matrices", *(pytest.param(one, marks=pytest.mark.slow) for one in SLOW)])
def test_as_without_compiling_and_with_a_worker_lost(name: str, workplace: Workplace, tmp_path: Path) -> None:
    service = workplace.service(1, ("--threads", "2"))
    *expected, close = say(service, tmp_path, name, "both")
    assert close == "as without compiling: [True, True, True]"
    assert len(set(expected)) == len(expected) == 3
    assert service.report() == []
    faults = (kill_at(1, "backward", 1), kill_at(2, "forward", 1))
    for fault in faults:
        service.inject(fault, 0)
    assert say(service, tmp_path, name) == expected
    service.survived(len(faults))
    assert len(service.injected()) == len(faults)
