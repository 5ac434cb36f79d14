"""What the commands accept, a service can be started with, and a program runs on it."""

from __future__ import annotations

import sys

import pytest
from toolkit.job import run_command
from toolkit.service import BIN
from toolkit.workplace import Workplace

LEAST = (
    "--gpus 1 --threads 1 --spares 0 --memory-limit 32MiB --journal-limit 16MiB --copies-limit 64MiB "
    "--images-limit 256MiB --pinned-limit 0 --hang-seconds 0 --validate-every 0"
)
MOST = (
    "--gpus 1 --threads 4 --spares 1 --memory-limit 2TiB --journal-limit 1TiB --copies-limit 1TiB "
    "--images-limit 1TiB --pinned-limit 64GiB --hang-seconds 1000000 --validate-every 2147483647"
)
STEP = """
import torch
model = torch.nn.Linear(16, 16).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    model(torch.ones(4, 16).pin_memory().cuda()).sum().backward()
    optimizer.step()
print(torch.cuda.get_device_properties(0).total_memory, model.weight.isfinite().all().item())
"""


@pytest.mark.parametrize(("options", "memory"), [(LEAST, 32 << 20), (MOST, 2 << 40)], ids=["least", "most"])
def test_the_ends_of_what_is_allowed(options: str, memory: int, workplace: Workplace) -> None:
    command = [str(BIN / "jitc"), "run", *options.split(), "--", sys.executable, "-c", STEP]
    done = run_command(command, env=workplace.env, timeout=150)
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, [str(memory), "True"], "")
