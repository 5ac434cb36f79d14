"""Whatever a program's first use of CUDA is, PyTorch is prepared by then."""

from __future__ import annotations

import subprocess
import sys

from toolkit.job import PRELOAD
from toolkit.workplace import Workplace

CAPTURE = """
import torch

assert not torch.cuda.is_initialized()
try:
    torch.cuda.CUDAGraph().capture_begin()
except RuntimeError as error:
    print(error)
print(torch.cuda.is_initialized(), torch.ones(3, device="cuda").sum().item())
"""


BARRIERS = """
import torch
import torch.distributed as dist

dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
dist.barrier()
before = torch.cuda.is_initialized()
dist.new_group(backend="nccl").barrier(dist.BarrierOptions()).wait()
print(before, torch.cuda.is_initialized(), torch.ones(3, device="cuda").sum().item())
dist.destroy_process_group()
"""


NESTED = """
import torch

parts = [torch.arange(6.0).view(2, 3), torch.ones(1, 3)]
torch.nested.nested_tensor(parts)
before = torch.cuda.is_initialized()
doubled = torch.nested.nested_tensor(parts, device="cuda") * 2
print(before, torch.cuda.is_initialized(), doubled.to_padded_tensor(0.0).sum().item())
"""


def run(workplace: Workplace, program: str) -> tuple[list[str], str]:
    environ = workplace.service(1).env | {"LD_PRELOAD": str(PRELOAD)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environ, capture_output=True, text=True, timeout=120, check=False
    )
    return done.stdout.splitlines(), done.stderr[-4000:]


def test_a_capture(workplace: Workplace) -> None:
    """PyTorch makes its tensors for random numbers below Python, and then refuses the default stream."""
    said, errors = run(workplace, CAPTURE)
    assert said[:1] and said[0].startswith("CUDA graphs must be captured on a non-default stream"), errors
    assert said[1:] == ["True 3.0"]


def test_a_barrier(workplace: Workplace) -> None:
    """NCCL's is a sum of zeros that PyTorch makes below Python; gloo's is no use of CUDA."""
    said, errors = run(workplace, BARRIERS)
    assert said == ["False True 3.0"], errors


def test_a_nested_tensor(workplace: Workplace) -> None:
    """PyTorch moves its parts below Python; one on the CPU is no use of CUDA."""
    said, errors = run(workplace, NESTED)
    assert said == ["False True 36.0"], errors
