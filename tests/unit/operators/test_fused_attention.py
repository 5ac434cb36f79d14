"""Fused attention on the software device: the form of its results, rows that see no key, dropout, and who gets it."""

from __future__ import annotations

from toolkit.stand_in import with_stand_in
from toolkit.tree import ROOT

PROGRAM = ROOT / "tests" / "unit" / "operators" / "attention_forms.py"


def test_it_is_as_on_cuda() -> None:
    done = with_stand_in(str(PROGRAM))
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr[-3000:]
