"""Kernels that the software device does not run; imported by the programs of test_missing_operators.py.

A file of its own, because Triton reads the source of its kernels.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def add_one(x, count, block: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    places = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(x + places, tl.load(x + places, mask=places < count) + 1, mask=places < count)


@triton.jit
def total(x, sums, count, block: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Its loop's end is known only when it runs, as in nearly every real kernel."""
    found = tl.zeros((block,), tl.float32)
    for start in range(0, count, block):
        places = start + tl.arange(0, block)
        found += tl.load(x + places, mask=places < count, other=0.0)
    tl.store(sums, tl.sum(found))
