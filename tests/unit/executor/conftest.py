"""Fixtures for the executor's tests: the device under it."""

from __future__ import annotations

import pytest
from toolkit.fakes import fake_library


@pytest.fixture(params=["software", "cuda"])
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What make_executor makes, here and in child processes; cuda is on the fake driver."""
    name: str = request.param
    if name == "cuda":
        monkeypatch.setenv("JITC_TEST_DRIVER", str(fake_library("cuda")))
        monkeypatch.setenv("JITC_TEST_NVRTC", str(fake_library("nvrtc")))
    return name
