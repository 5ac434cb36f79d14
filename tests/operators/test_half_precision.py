"""Operators that PyTorch has in half precision for CUDA only: the device gives the rounded result of float32.

Both run here: the device in half precision, the CPU in float32 with the same numbers; results and gradients must be
the same to the last bit of the half. Types that CUDA refuses stay refused, with a line that says what to do.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from toolkit.stand_in import with_stand_in

PROGRAM = """
import sys
import torch
import torch.nn.functional as F
from coverage_forms import spread
from jitc.client_shim import torch_device

torch_device.install(redirect=True, matrix_products=True)
name, dtype = sys.argv[1], getattr(torch, sys.argv[2])
wide = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.complex32: torch.complex64}
classes = torch.tensor([[0, 2, -1, 1], [3, -1, 0, 0], [1, 0, 2, -1]])
image, volume, rows = torch.randn(2, 3, 9, 8), torch.randn(2, 3, 4, 6, 4), torch.randn(3, 4)
calls = {
    "multilabel_margin_loss": (rows, lambda x, at: F.multilabel_margin_loss(x, classes.to(at))),
    "multi_margin_loss": (rows, lambda x, at: F.multi_margin_loss(x, torch.tensor([0, 3, 1], device=at), p=2)),
    "avg_pool3d": (volume, lambda x, at: F.avg_pool3d(x, 2, stride=1, padding=1)),
    "trace": (rows, lambda x, at: x.trace()),
    "bilinear_aa": (image, lambda x, at: F.interpolate(x, size=(4, 5), mode="bilinear", antialias=True)),
    "bicubic_aa": (image, lambda x, at: F.interpolate(x, size=(4, 5), mode="bicubic", antialias=True)),
    "rrelu": (rows, lambda x, at: F.rrelu(x, 0.25, 0.25, training=True)),
    "fft": (rows, lambda x, at: torch.view_as_real(torch.fft.rfft(x))),
    "ifft": (rows, lambda x, at: torch.fft.irfft(torch.view_as_complex(x.reshape(3, 2, 2).contiguous()), n=4)),
}
operand, call = calls[name]
operand = operand.to(dtype)
here = operand.cuda().requires_grad_()
there = operand.to(wide[dtype]).requires_grad_()
mine, reference = call(here, "cuda"), call(there, "cpu")
assert mine.dtype == dtype, mine.dtype
assert torch.equal(mine.cpu(), reference.to(dtype)), (mine, reference)
if name not in ("fft", "ifft"):  # of ComplexHalf, PyTorch itself has no gradients
    weight = torch.rand(reference.shape).to(dtype)
    (mine * weight.cuda()).sum(dtype=torch.float32).backward()
    (reference * weight.to(wide[dtype])).sum().backward()
    torch.testing.assert_close(here.grad.cpu(), there.grad.to(dtype))
if name == "avg_pool3d":  # a result that the caller gives, with gaps
    out = spread(mine.detach().cpu(), "cuda")
    returned = torch._C._nn.avg_pool3d(here.detach(), [2, 2, 2], [1, 1, 1], [1, 1, 1], out=out)
    assert returned is out and torch.equal(out.cpu(), mine.cpu())
if name == "rrelu":  # in place, with the numbers that it draws
    assert torch.nn.functional.rrelu_(here.detach().clone(), 0.25, 0.25, True).cpu().equal(mine.cpu())
print("equal")
"""

IN_BOTH = ("multilabel_margin_loss", "multi_margin_loss", "avg_pool3d", "trace", "bilinear_aa", "bicubic_aa")
IN_HALF = ("rrelu", "fft", "ifft")


def run(program: str, *arguments: str) -> str:
    here = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
    done = with_stand_in("-c", here + program, *arguments)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        *((name, dtype) for name in IN_BOTH for dtype in ("float16", "bfloat16")),
        *((name, "float16") for name in IN_HALF),
    ],
)
def test_the_rounded_result_of_float32(name: str, dtype: str) -> None:
    assert run(PROGRAM, name, dtype) == "equal\n"


REFUSED = """
import torch
from jitc.client_shim import torch_device

torch_device.install(redirect=True, matrix_products=True)
for dtype in (torch.float16, torch.bfloat16):
    try:
        torch.cdist(torch.randn(3, 4, device="cuda").to(dtype), torch.randn(3, 4, device="cuda").to(dtype))
    except NotImplementedError as error:
        assert "the software device runs PyTorch's CPU kernels" in str(error), error
    else:
        raise AssertionError("CUDA has no cdist in half precision")
print("refused")
"""


def test_a_type_that_cuda_refuses_is_refused() -> None:
    assert run(REFUSED) == "refused\n"
