"""Sizes and strides of what operators return on the software device, beside those that PyTorch predicts for CUDA.

Run by test_result_forms.py, in the stand-in: prints a line per operator and result that differs, then how many
operators were compared. Code of torch.compile counts on what is predicted.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

import torch
from coverage_entries import database, dtype_of
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from jitc.client_shim import torch_device

MOST_SAMPLES = 6


def turned(value: Any) -> Any:
    """The same numbers, with the last two dimensions exchanged in memory."""
    if not isinstance(value, torch.Tensor) or value.dim() < 2:
        return value
    return value.detach().mT.contiguous().mT.requires_grad_(value.requires_grad)


def form(tensor: torch.Tensor) -> tuple[Any, ...]:
    """Strides of dimensions that are there at all."""
    strides = [stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size > 1]
    return tuple(tensor.shape), tuple(strides if tensor.numel() else ()), tensor.dtype


class Compare(TorchDispatchMode):
    """Notes each operator whose results have another form."""

    def __init__(self) -> None:
        super().__init__()
        self.differ: dict[str, str] = {}
        self.compared: set[str] = set()

    def __torch_dispatch__(self, function: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        predicted = self._predicted(function, args, kwargs or {})
        results = function(*args, **kwargs or {})
        for number, (one, other) in enumerate(zip(predicted, tree_leaves(results), strict=False)):
            if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
                self.compared.add(str(function))
                if form(one) != form(other):
                    said = f"{function} result {number}: predicted {form(one)}, is {form(other)}"
                    self.differ.setdefault(f"{function} {number}", said)
        return results

    @staticmethod
    def _predicted(function: Any, args: Any, kwargs: Any) -> list[Any]:
        mode = FakeTensorMode()
        with mode:
            args, kwargs = tree_map(
                lambda one: mode.from_tensor(one) if isinstance(one, torch.Tensor) else one, (args, kwargs)
            )
            try:
                return tree_leaves(function(*args, **kwargs))
            except (NotImplementedError, RuntimeError, ValueError):  # it depends on numbers, or is refused
                return []


def run(op: Any, first: Any, others: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    result = op(first, *others, **keywords)
    wanted = [one for one in tree_leaves(result) if isinstance(one, torch.Tensor) and one.requires_grad]
    if wanted:
        torch.autograd.backward(wanted, [torch.ones_like(one) for one in wanted])


def main(beginnings: list[str]) -> None:
    torch_device.install(redirect=True, matrix_products=True)
    compare = Compare()
    for op in database():
        dtype = dtype_of(op)
        if dtype is None or not op.name.startswith(tuple(beginnings)):
            continue
        gradients = bool(op.supports_autograd and dtype.is_floating_point)
        for number, sample in enumerate(op.sample_inputs("cuda", dtype, requires_grad=gradients)):
            if number == MOST_SAMPLES:
                break
            given = (sample.input, tuple(sample.args), dict(sample.kwargs))
            for arguments in (given, tree_map(turned, given)):
                # Some samples are singular, or for CUDA alone; operator_coverage.py is about those.
                with contextlib.suppress(RuntimeError), compare:
                    run(op, *arguments)
    for said in compare.differ.values():
        print(said)
    print(len(compare.compared), flush=True)
    os._exit(0)  # threads of PyTorch's that come back to Python while it ends would end the process otherwise


if __name__ == "__main__":
    main(sys.argv[1:])
