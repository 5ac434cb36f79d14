"""Random operators: the CPU's distribution, numbers that follow from the seed, and a generator that goes on once.

Called by: operator_shard.py. Seeds are fixed, so a verdict is the same each time; the thresholds are such that a
correct operator would be refused once in many thousand runs of all entries, had they been drawn by chance.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from coverage_forms import Form, Out
from coverage_judge import Differs, compare, expect
from coverage_run import Run, run, same_bytes

DRAWS = 128
#: Elements of a result that are looked at, evenly spread.
PLACES = 64
#: How unlikely a difference must be before it counts, for one sample.
CHANCE = 1e-9


def numbers(one: Run) -> torch.Tensor:
    """What a run gave, as a row: places of its results, gradients and written arguments; then summaries of each, and of
    pairs of the same size, which also show whether two places depend on each other as they should."""
    written = [memory.contents for memory in one.memory if memory.touched]
    parts = [
        part.detach().to_dense().flatten() for part in (*one.results, *one.gradients, *written)
        if isinstance(part, torch.Tensor) and part.numel()
    ]  # fmt: skip
    parts = [(torch.view_as_real(part).flatten() if part.is_complex() else part).double() for part in parts]
    parts += [torch.tensor([float(part)]).double() for part in one.results if isinstance(part, int | float)]
    whole = [part.nan_to_num(nan=0.5, posinf=1e9, neginf=-1e9) for part in parts]
    places = [part[:: max(1, len(part) // PLACES)][:PLACES] for part in whole]
    sums = [torch.stack((part.mean(), part.square().mean(), part.diff().abs().sum() / len(part))) for part in whole]
    pairs = [
        (left * right).mean().reshape(1)
        for number, left in enumerate(whole)
        for right in whole[number + 1 :]
        if left.shape == right.shape
    ]
    return torch.cat([*places, *sums, *pairs]) if parts else torch.zeros(0)


def draws(form: Form, sample: Any, device: str, first: int, expected: list[Any] | None) -> torch.Tensor:
    """One row per draw. Seeds differ between the devices: the numbers need not be the same, only their distribution."""
    rows = [numbers(run(form, sample, device, first + number, expected)) for number in range(DRAWS)]
    expect(all(row.shape == rows[0].shape for row in rows), "results whose size is random")
    return torch.stack(rows)


def distance(mine: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    """Kolmogorov and Smirnov's, of each column."""
    mine, reference = mine.sort(0).values.t().contiguous(), reference.sort(0).values.t().contiguous()
    every = torch.cat((mine, reference), 1)
    below = [torch.searchsorted(one, every, right=True) / one.shape[1] for one in (mine, reference)]
    return (below[0] - below[1]).abs().amax(1)


def same_distribution(mine: torch.Tensor, reference: torch.Tensor) -> None:
    """Raises Differs. Rows are draws, columns what is looked at."""
    expect(mine.shape == reference.shape, f"{mine.shape[1]} numbers instead of {reference.shape[1]}")
    count, columns = mine.shape
    if not columns:
        return
    scale = torch.cat((mine, reference)).abs().amax(0).clamp_min(1e-6)
    # Numbers that do not depend on chance differ in their last digits, which is no other distribution.
    mine, reference = ((one / scale * 1e4).round() for one in (mine, reference))
    steady = torch.cat((mine, reference)).amax(0) - torch.cat((mine, reference)).amin(0) <= 2
    furthest = math.sqrt(-math.log(CHANCE / columns / 2) / 2) * math.sqrt(2 / count)
    far = distance(mine, reference).masked_fill(steady, 0)
    worst = int(far.argmax())
    expect(
        float(far[worst]) <= furthest,
        f"another distribution: number {worst} of {columns} has the distance {float(far[worst]):.2f} from the CPU's, "
        f"more than {furthest:.2f}; mean {float((mine * scale)[:, worst].mean()) / 1e4:.4g} instead of "
        f"{float((reference * scale)[:, worst].mean()) / 1e4:.4g}",
    )
    spread = ((mine.var(0) + reference.var(0)) / count).sqrt().clamp_min(1e-3)
    off = ((mine.mean(0) - reference.mean(0)).abs() / spread).masked_fill(steady, 0)
    worst = int(off.argmax())
    expect(
        float(off[worst]) <= 7.5,
        f"another distribution: the mean of number {worst} of {columns} is {float(off[worst]):.1f} deviations from "
        f"the CPU's",
    )


def alike(one: Run, other: Run) -> bool:
    mine, others = ([*run.results, *run.gradients, *(memory.contents for memory in run.memory)] for run in (one, other))
    return len(mine) == len(others) and all(
        same_bytes(left, right) if isinstance(left, torch.Tensor) and left.layout == torch.strided else True
        for left, right in zip(mine, others, strict=True)
        if type(left) is type(right)
    )


def check_generator(form: Form, sample: Any, expected: list[Any] | None, reference: Run) -> bool:
    """The first call of a signature asks the worker what it will give: that must not draw as well. Says whether the
    numbers are those that the function draws, for a call into given results."""
    state = torch.get_rng_state()
    first = run(form, sample, "cuda", 1, expected)
    then = run(form, sample, "cuda", None, expected)
    again = run(form, sample, "cuda", 1, expected)
    expect(first.drawn > 0 or first.on_cpu, "the GPU's generator has not gone on, though the CPU's does")
    expect(first.drawn == again.drawn, f"the generator went {first.drawn} steps on, then {again.drawn}")
    expect(alike(first, again), "the same seed gives other numbers the second time")
    one, two = (run(form, sample, "cpu", seed, expected) for seed in (1, None))
    expect(not alike(first, then) or alike(one, two), "the same numbers again without a new seed")
    known = False
    if isinstance(form, Out):
        plain = run(Form(form.op, False), sample, "cuda", 1)
        expect(plain.drawn == first.drawn, f"the generator went {first.drawn} steps on, without out= {plain.drawn}")
        known = all(same_bytes(*pair) for pair in zip(plain.results, first.results, strict=True))
    torch.set_rng_state(state)
    compare(first, reference, False)
    return known


def check_chance(form: Form, sample: Any, expected: list[Any] | None, reference: Run) -> None:
    """Raises Differs."""
    if check_generator(form, sample, expected, reference):
        return  # the function has drawn them before
    mine = draws(form, sample, "cuda", 1_000, expected)
    try:
        same_distribution(mine, draws(form, sample, "cpu", 900_000, expected))
    except Differs as error:
        raise Differs(f"{form.name}: {error}") from None
