"""The fake cuDNN says what the real one says, where the real one needs no GPU: descriptors and their attributes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from toolkit.fakes import fake_environment, fake_library, wheel_library

from jitc.proxy.backends.cuda import libraries

PROGRAM = Path(__file__).with_name("dnn_without_gpu.py")


def seen(library: Path) -> list[list[Any]]:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(library)], capture_output=True, text=True, timeout=120, check=False,
        env=fake_environment(),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    out: list[list[Any]] = json.loads(done.stdout)
    return out


@pytest.mark.skipif(
    wheel_library(libraries.candidates("cudnn")) is None,
    reason="libcudnn is not installed (pip install nvidia-cudnn-cu13)",
)
def test_descriptors_without_a_gpu() -> None:
    library = wheel_library(libraries.candidates("cudnn"))
    assert library is not None
    expected = seen(library)
    assert len({status for _, status, _ in expected}) > 3
    assert seen(fake_library("cudnn")) == expected
