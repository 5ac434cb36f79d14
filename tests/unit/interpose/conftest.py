"""Fixture ``cuda``: the front ends over a recording runtime.

It is one process-wide library, so every test starts by dropping what was recorded before.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from interpose_fake import Cuda, fake_library


@pytest.fixture(scope="session")
def _cuda() -> Cuda:
    os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    return Cuda(fake_library())


@pytest.fixture
def cuda(_cuda: Cuda) -> Iterator[Cuda]:
    _cuda.reset()
    yield _cuda
    _cuda.reset()
