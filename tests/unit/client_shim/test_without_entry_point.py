"""A program that has turned PyTorch's entry points off: client_shim is there all the same, or the program is told."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from toolkit.job import PRELOAD
from toolkit.workplace import Workplace

from jitc import client_shim
from jitc.client_shim import without_entry_point

OFF = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
MODULE = """
from jitc.client_shim import without_entry_point
without_entry_point.load_after_import(__name__)
without_entry_point.load_after_import(__name__)
{more}
DONE = True
"""
COMPUTES = """
import torch
print(torch.cuda.device_count(), torch.cat([torch.ones(2, device="cuda")] * 2).tolist())
"""
USES = """
import torch
try:
    print(torch.cat([torch.ones(2, device="cuda")] * 2).tolist())
except RuntimeError as error:
    print(error)
"""


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[bool]:
    """Of each call of autoload(): whether the module's own code had run."""
    calls: list[bool] = []
    monkeypatch.setattr(client_shim, "autoload", lambda: calls.append(hasattr(sys.modules["late_module"], "DONE")))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "late_module", raising=False)
    return calls


def test_it_comes_at_the_end_of_the_import(called: list[bool], tmp_path: Path) -> None:
    (tmp_path / "late_module.py").write_text(MODULE.format(more=""))
    module = importlib.import_module("late_module")
    importlib.reload(module)
    without_entry_point.load_after_import("late_module")  # it is not being imported
    assert called == [True]


def test_an_import_that_fails_is_left_alone(called: list[bool], tmp_path: Path) -> None:
    (tmp_path / "late_module.py").write_text(MODULE.format(more="raise ValueError('no')"))
    with pytest.raises(ValueError, match="no"):
        importlib.import_module("late_module")
    without_entry_point.load_after_import("late_module")
    assert called == []


def run(workplace: Workplace, program: str, **env: str) -> tuple[str, str]:
    environ = workplace.service(1).env | {"LD_PRELOAD": str(PRELOAD)} | env
    done = subprocess.run(
        [sys.executable, "-c", program], env=environ, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout, done.stderr


def test_operators_run_and_other_packages_stay_off(workplace: Workplace, tmp_path: Path) -> None:
    (tmp_path / "other_backend.py").write_text("def load():\n    print('loaded')\n")
    entry = tmp_path / "other_backend-1.0.dist-info"
    entry.mkdir()
    (entry / "METADATA").write_text("Metadata-Version: 2.1\nName: other-backend\nVersion: 1.0\n")
    (entry / "entry_points.txt").write_text("[torch.backends]\nother = other_backend:load\n")
    said, errors = run(workplace, COMPUTES, PYTHONPATH=str(tmp_path))
    assert said == "loaded\n1 [1.0, 1.0, 1.0, 1.0]\n", errors
    assert run(workplace, COMPUTES, PYTHONPATH=str(tmp_path), **OFF) == ("1 [1.0, 1.0, 1.0, 1.0]\n", "")


def test_a_python_without_jitc_is_told(workplace: Workplace, tmp_path: Path) -> None:
    """What a fault will cost, and what to do; the operator's own error says it too."""
    (tmp_path / "jitc").mkdir()
    (tmp_path / "jitc" / "__init__.py").write_text("raise ImportError\n")
    said, errors = run(workplace, USES, PYTHONPATH=str(tmp_path), **OFF)
    what = "this Python does not have it: install jitc beside PyTorch (pip install jitc)"
    assert f"by jitc's client_shim, and {what}" in said
    told = [line for line in errors.splitlines() if "its optimizer steps are not seen" in line]
    assert len(told) == 1 and told[0].startswith("jitc: PyTorch is used without") and what in told[0], errors
