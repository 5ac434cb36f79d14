"""Operators get arguments that go together badly: the library answers or refuses, whatever it is given.

Every operator that client_shim redirects, with a fixed seed. A child process runs the queries (operator_fuzz.py). It
ends when one touches memory that is not its own, takes 10 s of processor time, or more memory than the device has.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from operator_known import COMPOSED, KNOWN
from toolkit.waiting import patient

PROGRAM = Path(__file__).with_name("operator_fuzz.py")
#: operator_known.py and operator_samples.json were written with it; others have other kernels.
RELEASE = "2.11"
of_release = pytest.mark.skipif(not torch.__version__.startswith(RELEASE), reason=f"for PyTorch {RELEASE}")
#: Right calls in PyTorch's samples whose random numbers the fuzz does not keep.
NEED_THEIR_VALUES = {"aten::cholesky", "aten::masked_scatter_", "aten::multinomial", "aten::normal.Tensor_Tensor"}


def fuzz(*arguments: object, seconds: float) -> dict[str, Any]:
    command = [sys.executable, str(PROGRAM), *map(str, arguments)]
    # The library of glibc that checks the heap; where there is none, the dynamic linker says so and goes on.
    checked = dict(os.environ, LD_PRELOAD="libc_malloc_debug.so.0", MALLOC_CHECK_="3")
    done = subprocess.run(command, capture_output=True, text=True, timeout=patient(seconds), check=False, env=checked)
    assert done.returncode == 0, done.stderr[-2000:]
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def plain(name: str) -> str:
    return name.removeprefix("aten::").partition(".")[0]


def unknown(said: dict[str, Any]) -> str:
    """How to have each again, and how it ended."""
    wrong = (one for one in said["wrong"] if plain(one["name"]) not in KNOWN)
    return "\n".join(f"--only {one['name']} --turn {one['turn']}: {one['how']}" for one in wrong)


def test_operators_of_jitc_check_their_operands() -> None:
    names = [f"aten::{name}" for name in COMPOSED]
    said = fuzz("--seed", 11, "--each", 500, "--only", *names, seconds=120)
    assert said["wrong"] == []
    answers = {name: said["answers"][name] for name in names}
    never = [name for name, (answered, *refused) in answers.items() if not answered or not any(refused)]
    assert never == [], "answered or refused every time"


def test_only_known_operators_are_excused() -> None:
    assert not KNOWN.keys() & set(COMPOSED)
    assert all(KNOWN.values()), "a reason each"


@of_release
def test_no_operator_ends_the_process() -> None:
    said = fuzz("--seed", 11, "--each", 8, seconds=200)
    assert not unknown(said), unknown(said)
    assert len(said["answers"]) > 1000
    answered = sum(counts[0] for counts in said["answers"].values())
    assert answered > 3000, "the fuzz makes too few calls that are right"


@of_release
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_no_operator_ends_the_process_however_often_it_is_asked() -> None:
    said = fuzz("--seed", 12, "--each", 150, seconds=1700)
    assert not unknown(said), unknown(said)
    found = {plain(one["name"]) for one in said["wrong"]}
    if found != KNOWN.keys():
        warnings.warn(f"known operators that did no harm this time: {sorted(KNOWN.keys() - found)}", stacklevel=1)


@of_release
def test_right_calls_are_not_refused() -> None:
    """The checks ask for nothing that PyTorch's own programs do not bring."""
    refused = fuzz("--right", seconds=120)
    assert not refused.keys() - NEED_THEIR_VALUES, refused
