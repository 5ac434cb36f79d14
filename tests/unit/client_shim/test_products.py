"""Matrix products with a summand of any form, through cuBLAS's calls, are those of the CPU."""

from __future__ import annotations

import subprocess
import sys

from toolkit.job import PRELOAD
from toolkit.workplace import Workplace

PRODUCTS = """
import torch
from torch.nn.functional import linear

torch.manual_seed(5)
left, right = torch.randn(8, 6), torch.randn(6, 4)
cases = {
    "a row": lambda to: torch.addmm(to(torch.arange(4.0)), to(left), to(right)),
    "a row, scaled": lambda to: torch.addmm(to(torch.arange(4.0)), to(left), to(right), beta=0.5, alpha=2),
    "a row with gaps": lambda to: torch.addmm(to(torch.arange(8.0))[::2], to(left), to(right)),
    "a row as a matrix": lambda to: torch.addmm(to(torch.arange(4.0))[None], to(left), to(right)),
    "a column": lambda to: torch.addmm(to(torch.arange(8.0))[:, None], to(left), to(right)),
    "a number": lambda to: torch.addmm(to(torch.tensor(3.0)), to(left), to(right)),
    "a matrix": lambda to: torch.addmm(to(torch.ones(8, 4)), to(left), to(right)),
    "a matrix the other way round": lambda to: torch.addmm(to(torch.ones(4, 8)).T, to(left), to(right)),
    "no number, left out": lambda to: torch.addmm(to(torch.full((4,), torch.nan)), to(left), to(right), beta=0),
    "one output": lambda to: linear(to(left), to(right[:, :1].T.contiguous()), to(torch.ones(1))),
    "one input": lambda to: linear(to(left[:, :1]), to(right[:1].T.contiguous()), to(torch.arange(4.0))),
    "one of both": lambda to: linear(to(left[:, :1]), to(right[:1, :1]), to(torch.ones(1))),
    "one output, half": lambda to: linear(to(left.half()), to(right[:, :1].T.half()), to(torch.ones(1).half())),
    "no rows": lambda to: torch.addmm(to(torch.arange(4.0)), to(left[:0]), to(right)),
    "nothing to sum": lambda to: torch.addmm(to(torch.arange(4.0)), to(left[:, :0]), to(right[:0]), beta=0.5),
    "into a result with gaps": lambda to: torch.addmm(
        to(torch.ones(8, 4)), to(left), to(right), out=to(torch.zeros(16, 4))[::2]),
    "into a result with gaps, a row": lambda to: torch.addmm(
        to(torch.arange(4.0)), to(left), to(right), out=to(torch.zeros(8, 8))[:, ::2]),
    "into a result of another size": lambda to: torch.addmm(
        to(torch.tensor(3.0)), to(left), to(right), out=to(torch.zeros(0))),
}
for name, case in cases.items():
    try:
        mine, other = case(lambda one: one.cuda()).cpu(), case(lambda one: one)
        tolerance = 1e-2 if mine.dtype == torch.half else 1e-5
        torch.testing.assert_close(mine, other, rtol=tolerance, atol=tolerance)
    except Exception as error:
        print(name, str(error).splitlines()[0][:200], sep=": ")

head = torch.nn.Linear(6, 1).cuda()
head(left.cuda()).sum().backward()
torch.testing.assert_close(head.weight.grad.cpu()[0], left.sum(0))
print("done")
"""


def test_products_with_a_summand(workplace: Workplace) -> None:
    environ = workplace.service(1).env | {"LD_PRELOAD": str(PRELOAD)}
    done = subprocess.run(
        [sys.executable, "-c", PRODUCTS], env=environ, capture_output=True, text=True, timeout=240, check=False
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr[-4000:]
