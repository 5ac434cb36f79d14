"""What an operator is expected to make of each of its operands: the form of the tables that test_operand_uses.py goes
by.

A case has operands for one call, another value for some of them, and a reference in float64 that uses each operand as
CUDA's kernel does. All cases of an operator together must change every operand of its schema, or have it in a table of
those that are ignored or refused, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

#: What an operator gives: tensors, or None where there is no such result.
Results = Sequence[Any]
#: Gets the operands by name, those that are real numbers in float64, and what the operator has given.
Reference = Callable[[dict[str, Any], Results], Results]


@dataclass
class Case:
    """operator: "aten::name.overload". others: a second value for each operand that counts. ignored, refused: a second
    value for one that does not, and the reason. written: operands that are part of what the call gives. bound: of a
    result, relative."""

    operator: str
    operands: dict[str, Any]
    others: dict[str, Any]
    reference: Reference
    ignored: dict[str, tuple[Any, str]] = field(default_factory=dict)
    refused: dict[str, tuple[Any, str]] = field(default_factory=dict)
    written: tuple[str, ...] = ()
    bound: float = 1e-12
    #: Real operands are also given in these types, with that bound.
    types: dict[torch.dtype, float] = field(default_factory=dict)
    name: str = ""


def reals(*sizes: int, seed: int = 0, positive: bool = False) -> torch.Tensor:
    """Numbers in float64, others for each seed."""
    made = torch.randn(*sizes, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return made.abs() + 0.25 if positive else made


def integers(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int64)
