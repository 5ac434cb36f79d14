"""The operators that are compared, and the samples that they are called with: PyTorch's own (OpInfo).

Called by: operator_shard.py, test_operator_sample.py. Promises: the same entries and samples in every process, in the
same order; random operators draw from the generators as a program's calls do, without a seed of their own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

#: The type that an entry is compared in: the first that CUDA and CPU take, else the first that CUDA takes.
DTYPES = (
    torch.float32, torch.complex64, torch.int64, torch.int32, torch.bool, torch.float16, torch.float8_e4m3fn,
)  # fmt: skip
MOST_SAMPLES = 64


def database() -> list[Any]:
    """PyTorch's own samples use CUDA as soon as they are imported, so this comes after the device is prepared."""
    from torch.testing._internal import common_methods_invocations as invocations

    use_seeds_of_the_caller()
    lists = [name for name in vars(invocations) if name.startswith("foreach_") and name.endswith("_op_db")]
    return [*invocations.op_db, *(one for name in sorted(lists) for one in getattr(invocations, name))]


def use_seeds_of_the_caller() -> None:
    """Entries of random operators set a seed before each call and put the generators back after it."""

    def plain(op: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        return op(*arguments, **keywords)

    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("torch.testing") and hasattr(module, "wrapper_set_seed"):
            module.wrapper_set_seed = plain  # type: ignore[attr-defined]


def dtype_of(op: Any) -> torch.dtype | None:
    """None: CUDA takes none."""
    here, there = op.supported_dtypes("cpu"), op.supported_dtypes("cuda")
    return next(
        (one for one in DTYPES if one in here and one in there), next((one for one in DTYPES if one in there), None)
    )


def title(op: Any, dtype: torch.dtype | None) -> str:
    return str(op.formatted_name) + ("" if dtype in (None, torch.float32) else f" ({str(dtype)[6:]})")


def samples(op: Any, dtype: torch.dtype, most: int = MOST_SAMPLES) -> tuple[list[Any], int]:
    """At most so many, evenly spread over those that the entry has; and how many it has."""
    torch.manual_seed(7)
    gradients = op.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
    every = list(op.sample_inputs("cuda", dtype, requires_grad=gradients))
    if len(every) <= most:
        return every, len(every)
    return [every[number * len(every) // most] for number in range(most)], len(every)
