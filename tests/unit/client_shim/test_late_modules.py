"""Modules are changed once, when their own code has run, whenever the program imports them."""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

import pytest

from jitc.client_shim import late_modules

CODE = "VALUE = 'its own'\n"


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Of two modules that can be imported."""
    found = ["jitc_late_one", "jitc_late_two"]
    for name in found:
        (tmp_path / f"{name}.py").write_text(CODE)
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(late_modules, "_changes", {})
    return found


def test_before_and_after_it_is_imported(names: list[str]) -> None:
    seen: list[tuple[str, str]] = []

    def note(module: Any) -> None:
        seen.append((module.__name__, module.VALUE))

    early, late = names
    first = importlib.import_module(early)
    finders = len(sys.meta_path)
    for name in names:
        late_modules.change({name: note})
    assert len(sys.meta_path) == finders + 1, "one for all"
    assert seen == [(early, "its own")]
    second = importlib.import_module(late)
    assert seen == [(early, "its own"), (late, "its own")]
    assert importlib.import_module(late) is second and len(seen) == 2
    assert inspect.getsource(second) == inspect.getsource(first) == CODE


def test_one_that_is_not_there(names: list[str]) -> None:
    late_modules.change({"jitc_late_none": names.append})
    with pytest.raises(ModuleNotFoundError, match="jitc_late_none"):
        importlib.import_module("jitc_late_none")
    assert len(names) == 2
