"""Part of operator_coverage.py: compares some entries of PyTorch's op_db on the device with the CPU.

Reads entry numbers from its arguments, prints one JSON line per entry (and one with only the number before
it starts, so that the parent knows which entry a crash or a hang belongs to).
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.testing import assert_close
from torch.utils._pytree import tree_flatten, tree_map

SAMPLES = 16  # of one entry, evenly spread over those that it has
Call = Callable[[], Any]


def entries() -> list[Any]:
    # PyTorch's samples use CUDA as soon as they are imported, which is too early for --matrix-products.
    from torch.testing._internal.common_methods_invocations import op_db

    return [op for op in op_db if torch.float32 in op.supported_dtypes("cuda")]


def moved(value: Any, device: str) -> Any:
    """A copy of a sample's input, with leaves of its own; CPU tensors stay where they are for "cuda"."""

    def one(item: Any) -> Any:
        if isinstance(item, torch.Tensor):
            place = device if device == "cpu" else item.device
            return item.detach().to(place, copy=True).requires_grad_(item.requires_grad)
        if isinstance(item, torch.device) or (isinstance(item, str) and item.startswith("cuda")):
            return device
        return item

    return tree_map(one, value)


def picked(op: Any) -> Iterator[Any]:
    torch.manual_seed(7)
    samples = list(op.sample_inputs("cuda", torch.float32, requires_grad=op.supports_autograd))
    step = max(1, len(samples) // SAMPLES)
    yield from samples[::step][:SAMPLES]


def seeded(seed: int, action: Call) -> Any:
    """Runs action with random numbers that follow from the seed, also where op_db sets a seed itself."""
    plain = torch.manual_seed
    torch.manual_seed = lambda given: plain(int(given) + seed)  # type: ignore[assignment]
    try:
        plain(seed)
        return action()
    finally:
        torch.manual_seed = plain


def run(op: Any, sample: Any, device: str, seed: int) -> tuple[list[Any], list[torch.Tensor | None]]:
    """Outputs and gradients."""
    arguments, keywords = moved((sample.input, *sample.args), device), moved(sample.kwargs, device)
    outputs = tree_flatten(seeded(seed, lambda: op(*arguments, **keywords)))[0]
    leaves = [
        one for one in tree_flatten((arguments, keywords))[0] if isinstance(one, torch.Tensor) and one.requires_grad
    ]
    roots = [
        one for one in outputs if isinstance(one, torch.Tensor) and one.requires_grad and one.dtype.is_floating_point
    ]
    if not leaves or not roots:
        return outputs, []
    weights = [torch.linspace(0.5, 1.5, max(one.numel(), 1))[: one.numel()].reshape(one.shape).to(one) for one in roots]
    return outputs, list(torch.autograd.grad(roots, leaves, weights, allow_unused=True))


def compare(mine: list[Any], reference: list[Any], values: bool) -> None:
    assert len(mine) == len(reference), f"{len(mine)} results instead of {len(reference)}"
    for one, other in zip(mine, reference, strict=True):
        if not isinstance(other, torch.Tensor):
            assert type(one) is type(other), f"{type(one)} instead of {type(other)}"
            assert not values or one == other or math.isnan(other), f"{one} instead of {other}"
            continue
        assert one.shape == other.shape, f"shape {tuple(one.shape)} instead of {tuple(other.shape)}"
        assert one.dtype == other.dtype, f"{one.dtype} instead of {other.dtype}"
        if values:
            assert_close(one.detach().cpu(), other.detach(), equal_nan=True, check_stride=False)


def attempt(action: Call) -> tuple[Any, str | None]:
    try:
        return action(), None
    except Exception as error:
        return None, f"{type(error).__name__}: {str(error)[:300]}"


def is_random(op: Any, samples: list[Any]) -> bool:
    """Whether the CPU itself gives other values with other seeds, or leaves memory as it was."""
    if "empty" in op.name:
        return True
    for seed, sample in enumerate(samples):
        first, refused = attempt(lambda sample=sample: run(op, sample, "cpu", 1))  # type: ignore[misc]
        if refused:
            continue
        again, _ = attempt(lambda sample=sample, seed=seed: run(op, sample, "cpu", 2 + seed))  # type: ignore[misc]
        if attempt(lambda a=again, b=first: compare([*a[0], *a[1]], [*b[0], *b[1]], True))[1]:  # type: ignore[misc]
            return True
    return False


def check_sample(op: Any, sample: Any, values: bool) -> tuple[bool, str | None]:
    """(whether the CPU could do it, what is wrong on the device)."""
    reference, refused = attempt(lambda: run(op, sample, "cpu", 1))
    if refused:
        return False, None
    mine, wrong = attempt(lambda: run(op, sample, "cuda", 1))
    if wrong:
        return True, wrong
    for part in (0, 1):
        wrong = attempt(lambda part=part: compare(mine[part], reference[part], values))[1]  # type: ignore[misc]
        if wrong:
            return True, f"{('forward', 'gradient')[part]}: {wrong}"
    return True, None


def check(op: Any) -> dict[str, Any]:
    done = 0
    samples, broken = attempt(lambda: list(picked(op)))
    if broken:
        return {"result": "failed", "why": f"no samples: {broken}"}
    values = not is_random(op, samples)
    for number, sample in enumerate(samples):
        possible, wrong = check_sample(op, sample, values)
        if wrong:
            return {"result": "failed", "why": f"sample {number}: {wrong}"}
        done += possible
    return {"result": "passed" if done else "skipped", "samples": done, "why": "" if done else "not on the CPU"}


def main() -> int:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--matrix-products", action="store_true", help="there is no cuBLAS: redirect these too")
    arguments.add_argument("entries", type=int, nargs="*")
    args = arguments.parse_args()
    if args.matrix_products:
        from jitc.client_shim import torch_device

        torch_device.install(redirect=True, matrix_products=True)
    warnings.simplefilter("ignore")
    all_entries = entries()
    print(json.dumps({"count": len(all_entries)}), flush=True)
    for number in args.entries:
        op = all_entries[number]
        print(json.dumps({"entry": number}), flush=True)
        print(json.dumps({"entry": number, "name": op.formatted_name, **check(op)}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
