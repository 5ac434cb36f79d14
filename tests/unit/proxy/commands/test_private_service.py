"""The service of `jitc run` that does not become ready: the message is true, and nothing is left."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from jitc.proxy.commands import private_service as module
from jitc.proxy.commands.options import CommandError
from jitc.proxy.commands.private_service import private_service


@contextlib.contextmanager
def refused(why: str, options: list[str], folder: Path) -> Iterator[None]:
    with pytest.raises(CommandError, match=why), private_service(["--device", "software", *options], str(folder)):
        raise AssertionError("it serves")
    yield
    assert not list(folder.iterdir())


def test_one_that_cannot_start_has_said_why(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with refused("did not start; its message is above", ["--gpus", "0"], tmp_path):
        (line,) = capfd.readouterr().err.splitlines()
        assert "--gpus" in line


def test_one_that_takes_too_long_has_said_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "START_SECONDS", 0)
    with refused("is not ready after 0 s; `jitc doctor` looks for what keeps it", ["--gpus", "1"], tmp_path):
        assert capfd.readouterr().err == ""
