"""Programs after public bug reports on distributed training: each rank is lost, and all is as without a loss."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from toolkit.lockstep import Lockstep
from toolkit.reports import LOSSES, Pair
from toolkit.service import Service
from toolkit.workplace import Workplace

#: In the quick run; docs/third-party.md has what each is after.
QUICK = (
    "unused-parts", "adversaries", "mixed-precision", "closures", "in-backward", "overlapped", "experts", "two-threads",
    "groups", "interleaved", "late-join", "ahead", "across",
)  # fmt: skip
OTHERS = (
    "static-graph", "synced-norm", "bucket-views", "averaged", "reloaded", "redundancy", "local-steps", "batched",
    "objects", "side-stream", "loaders", "fsdp2", "hybrid", "fsdp1", "tensor-parallel", "pipelined",
)  # fmt: skip


@pytest.fixture(scope="module")
def service(shared_workplace: Workplace) -> Service:
    return shared_workplace.service(2)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "shape",
    [
        *QUICK,
        *(pytest.param(one, marks=pytest.mark.slow) for one in OTHERS),
    ],
)
def test_each_rank_is_lost(service: Service, start: Callable[..., Lockstep], tmp_path: Path, shape: str) -> None:
    pair = Pair(start, service, tmp_path, shape)
    calm, before = pair.run({}), len(service.report())
    assert pair.run(LOSSES) == calm
    pair.finish()
    assert [one["outcome"] for one in service.report()[before:]] == ["recovered"] * len(LOSSES)
    assert not service.divergences()
