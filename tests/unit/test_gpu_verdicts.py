"""The check on a GPU, without one: what is refused by design is no failure, and a failed step runs once more."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from gpu import step
from gpu.lab import Lab
from gpu.steps import libraries
from toolkit.tree import ROOT

#: A step that comes out right where nothing overlaps, one that never does, and one that needs no GPU.
LUCKY = """
import os
from gpu.lab import StepFailed
def overlaps(lab):
    if os.environ.get("CUDA_LAUNCH_BLOCKING") != "1":
        raise StepFailed("losses differ", {"known": 1})
    return {"known": 2}
def never(lab):
    raise StepFailed("no such luck")
machine = never
"""
VARIED = """
import sys
from gpu import check, plan
needs = {"overlaps": (plan.GPU,), "never": (plan.GPU,), "machine": ()}
plan.PLAN = tuple(plan.Step(name, "lucky", 20, one, 1) for name, one in needs.items())
plan.NAMES = tuple(step.name for step in plan.PLAN)
sys.exit(check.main(sys.argv[1:]))
"""


@pytest.mark.parametrize("words", [(), ("--rehearse",)])
def test_a_step_that_fails_on_the_gpu_runs_once_more_with_a_variant(tmp_path: Path, words: tuple[str, ...]) -> None:
    """So that one call says whether it fails where nothing overlaps too; the first outcome stays."""
    (tmp_path / "lucky.py").write_text(LUCKY)
    path = tmp_path / "out" / "r.json"
    done = subprocess.run(
        [sys.executable, "-c", VARIED, "--out", str(path), *words], capture_output=True, text=True, timeout=90,
        check=False, env=os.environ | {"PYTHONPATH": f"{ROOT / 'tests'}:{tmp_path}"},
    )  # fmt: skip
    steps = {one["name"]: one for one in json.loads(path.read_text())["steps"]}
    assert done.returncode == 1 and {one["verdict"] for one in steps.values()} == {"failed"}, done
    again = {name: one["data"].pop("again", None) for name, one in steps.items()}
    assert steps["overlaps"]["data"] == {"known": 1} and again["machine"] is None
    if words:
        assert not any(again.values())
        return
    assert [(one["verdict"], one["reason"]) for one in (again["overlaps"], again["never"])] == [
        ("passed", ""), ("failed", "no such luck"),
    ]  # fmt: skip
    assert again["never"]["with"]["CUDA_MODULE_LOADING"] == "EAGER"


class Featured:
    """A program of features.py, which has told its answer."""

    def __init__(self, answer: dict[str, Any], said: str) -> None:
        self._answer, self._said = answer, said

    def documents(self) -> list[dict[str, Any]]:
        return [self._answer]

    def answer(self) -> dict[str, Any]:
        return self._answer

    def said(self) -> str:
        return self._said

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("native", "said", "verdict"),
    [
        (True, "jitc: cuFFT is not served: use the CPU\nother", "refused"),
        (True, "jitc: libx.so has a CUDA runtime of its own, linked in statically: link it shared", "refused"),
        (True, "jitc: something else", "failed"),  # that is news
        (True, "cuFFT is not served: says the program", "failed"),
        (False, "jitc: cuFFT is not served: use the CPU", "not run"),
    ],
)
def test_what_is_refused_by_design_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, native: bool, said: str, verdict: str
) -> None:
    """But only where it works without the proxy, and jitc has told the user."""
    place = Lab(tmp_path)

    def program(module: str, name: str, socket: str = "") -> Featured:
        assert (module, name) == ("features", "fft")
        return Featured({"ok": native and not socket, "error": "CUFFT_INTERNAL_ERROR"}, said if socket else "")

    service = contextlib.nullcontext(SimpleNamespace(socket="/s"))
    monkeypatch.setattr(libraries, "Service", lambda *_: service)
    monkeypatch.setattr(place, "program", program)
    found, why = step.run(place, libraries.__name__, "fft")
    assert found == verdict and ("is not served" in why or "linked in" in why) == (verdict == "refused"), why
