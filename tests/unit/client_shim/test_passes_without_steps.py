"""A program that changes its weights without an optimizer of PyTorch makes no boundaries, and is told so."""

from __future__ import annotations

import subprocess
import sys

import pytest
from toolkit.job import PRELOAD
from toolkit.workplace import Workplace

HINT = "1,024 backward passes without an optimizer step"
PROGRAM = """
import torch
weight = torch.zeros(2, device="cuda", requires_grad=True)
optimizer = torch.optim.SGD([weight], 0.1)
for number in range(1100):
    (weight - 1).square().sum().backward()
    {step}
print(weight.tolist())
"""
BY_HAND = "weight.data -= 0.1 * weight.grad; weight.grad = None"
OFTEN = "number % 1000 or (optimizer.step(), optimizer.zero_grad())"


def errors(workplace: Workplace, step: str) -> str:
    environ = workplace.service(1).env | {"LD_PRELOAD": str(PRELOAD)}
    program = [sys.executable, "-c", PROGRAM.format(step=step)]
    done = subprocess.run(program, env=environ, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stderr


@pytest.mark.parametrize(("step", "times"), [(BY_HAND, 1), (OFTEN, 0)], ids=["by-hand", "accumulated"])
def test_it_is_told_once(workplace: Workplace, step: str, times: int) -> None:
    assert errors(workplace, step).count(HINT) == times
