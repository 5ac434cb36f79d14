"""Our texts, and what we know of attributes, against NVIDIA's own libraries, where these need no GPU."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from toolkit.fakes import wheel_library

from jitc.interpose.spec.cublas.lt import ATTRIBUTES
from jitc.proxy.backends.cuda import libraries
from jitc.proxy.common import paths

PROGRAM = Path(__file__).with_name("real_libraries.py")


def cudart() -> Path | None:
    """Of CUDA 13, whose texts are ours: the one beside cuBLAS."""
    cublas = wheel_library(libraries.candidates("cublas"))
    beside = cublas.with_name("libcudart.so.13") if cublas else None
    return beside if beside and beside.exists() else None


def wheels() -> list[str]:
    return [
        str(cudart()),
        *(str(wheel_library(libraries.candidates(name))) for name in ("nccl", "cublas", "cublaslt", "cudnn")),
    ]


@cache
def said(*names: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *names], capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stderr
    out: dict[str, Any] = json.loads(done.stdout)
    return out


pytestmark = [
    pytest.mark.skipif(cudart() is None, reason="NVIDIA's libraries are not installed"),
    pytest.mark.skipif(not all(map(Path.is_absolute, map(Path, wheels()))), reason="libraries that are not wheels"),
]


@pytest.mark.parametrize(
    "function",
    ["cudaGetErrorName", "cudaGetErrorString", "ncclGetErrorString", "cublasGetStatusName", "cudnnGetErrorString"],
)
def test_texts_are_the_libraries_own(function: str) -> None:
    """Programs print and compare them."""
    ours = said(*[str(paths.preload_library())] * 5)[function]
    real = said(*wheels())[function]
    assert len(set(real)) > 5
    assert [(code, ours[code], text) for code, text in enumerate(real) if ours[code] != text] == []


def test_attributes_of_cublaslt_have_the_size_that_travels() -> None:
    real = said(*wheels())["attributes"]
    for kind, attributes in ATTRIBUTES.items():
        assert {int(number): size for number, size in real[kind].items()} == {
            number: size for number, (_, size) in attributes.items()
        }
