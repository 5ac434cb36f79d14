"""The logarithm of a sigmoid: operands and references (operand_cases.py). CUDA's kernels use no buffer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from operand_cases import Case, Results, reals

UNUSED = "the kernel makes anew what the CPU's kernel keeps there"


def forward(of: dict[str, Any], _: Results) -> Results:
    return [torch.nn.functional.logsigmoid(of["self"]), of.get("buffer", torch.zeros(0, dtype=torch.float64))]


def backward(of: dict[str, Any], _: Results) -> Results:
    return [of["grad_output"] * torch.sigmoid(-of["self"])]


def cases() -> Iterator[Case]:
    first, second = ({"self": reals(3, 4, seed=seed)} for seed in (0, 1))
    yield Case("aten::log_sigmoid_forward", first, second, forward)
    results = {"output": torch.zeros(3, 4, dtype=torch.float64), "buffer": reals(3, 4, seed=2)}
    yield Case("aten::log_sigmoid_forward.output", first | results, second, forward)
    first = first | {"grad_output": reals(3, 4, seed=3), "buffer": torch.zeros(0, dtype=torch.float64)}
    second = second | {"grad_output": reals(3, 4, seed=4)}
    case = Case("aten::log_sigmoid_backward", first, second, backward, {"buffer": (reals(3, 4, seed=5), UNUSED)})
    yield case
    result = {"grad_input": torch.zeros(3, 4, dtype=torch.float64)}
    yield replace(case, operator=f"{case.operator}.grad_input", operands=first | result, written=("grad_input",))
