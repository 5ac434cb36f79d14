"""Kernels that PyTorch launches past its operators are served by their names on the software device."""

from __future__ import annotations

import subprocess
import sys

from toolkit.job import PRELOAD
from toolkit.workplace import Workplace

SLEEPS = """
import torch

begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
kilohertz = torch.cuda.get_device_properties(0).clock_rate
begin.record()
torch.cuda._sleep(300 * kilohertz)
end.record()
torch.cuda._sleep(-1)
torch.cuda.synchronize()
print(begin.elapsed_time(end))
"""


CHECKS = """
import os
import torch
import torch.distributed as dist

os.environ["TORCH_NCCL_NAN_CHECK"] = "1"
dist.init_process_group("nccl", rank=0, world_size=1, store=dist.HashStore(), device_id=torch.device("cuda", 0))
for kind in (torch.float32, torch.bfloat16):
    numbers = torch.ones(5, dtype=kind, device="cuda")
    dist.all_reduce(numbers)
    print(numbers.sum().item(), flush=True)
numbers[3] = float("nan")
try:
    dist.all_reduce(numbers)
    torch.cuda.synchronize()
except RuntimeError as error:
    print(str(error).splitlines()[0], flush=True)
os._exit(0)  # the process group would wait for its collective
"""


def test_nan_before_a_collective_is_an_assert(workplace: Workplace) -> None:
    environ = workplace.service(1).env | {"LD_PRELOAD": str(PRELOAD)}
    done = subprocess.run(
        [sys.executable, "-c", CHECKS], env=environ, capture_output=True, text=True, timeout=120, check=False
    )
    said = done.stdout.splitlines()
    assert said[:2] == ["5.0", "5.0"], done.stderr[-4000:]
    assert "device-side assert triggered" in said[2]
    assert "a NaN in what a collective sends" in done.stderr


def test_sleep_keeps_its_stream_busy(workplace: Workplace) -> None:
    environ = workplace.service(1).env | {"LD_PRELOAD": str(PRELOAD)}
    done = subprocess.run(
        [sys.executable, "-c", SLEEPS], env=environ, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert float(done.stdout) >= 300
