"""Fixture ``dnn``: a handle of cuDNN on ``gpu``, the device with kernels."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from api_rig import Cuda
from interpose_dnn import Dnn


@pytest.fixture
def dnn(gpu: Cuda) -> Iterator[Dnn]:
    """Every answer that a test prepares must be asked for."""
    one = Dnn(gpu)
    yield one
    assert one.unused() == 0
    one.ok("cudnnDestroy", one.handle)
