"""Fixtures of the tests on the cuda device: fake GPUs in place of the system's driver, programs in lockstep."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from toolkit.fakes import fake_system
from toolkit.lockstep import Lockstep
from toolkit.service import Service
from toolkit.workplace import Workplace


@pytest.fixture
def environment(workplace: Workplace, tmp_path: Path) -> dict[str, str]:
    """Two fake GPUs in place of the system's driver."""
    folder = tmp_path / "driver"
    folder.mkdir()
    return fake_system(
        folder, workplace.env, DEVICES="2", LOG=str(tmp_path / "log"), NVML_EVENTS=str(tmp_path / "events")
    )


@pytest.fixture
def start() -> Iterator[Callable[..., Lockstep]]:
    """Starts a program in lockstep; it is ended with the test."""
    programs: list[Lockstep] = []

    def begin(
        service: Service, path: Path, *arguments: object, env: Mapping[str, str] | None = None
    ) -> Lockstep:  # fmt: skip
        programs.append(Lockstep(service, path, *arguments, env=env))
        return programs[-1]

    yield begin
    for program in programs:
        program.kill()
