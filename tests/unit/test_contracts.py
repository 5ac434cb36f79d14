"""The command that compares what others rely on with an earlier commit notices what has changed or gone."""

from __future__ import annotations

import re
import sys

import pytest
from toolkit.tree import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

import contracts

#: Contract -> how many entries it has at the least, one of them, and a change that takes it away.
CASES = {
    "exported symbols": (1000, "cudaMalloc", (r"\bcudaMalloc;", "")),
    "ops": (100, "copy_h2d", (r"\bcopy_h2d = 0x0203", "copy_h2d = 0x0299")),
    "records": (5, "op = 1", (r"\bop = 1\b", "op = 99")),
    "messages": (200, "message Fault 1", (r"string kind = 1", "uint64 kind = 1")),
    "options": (30, "--hang-seconds", ("--hang-seconds", "--hang")),
    "exit codes": (1, "2", (r"(?i)(exit (?:status|code)s?(?: is)?:?) 2", r"\1 9")),
    "documents": (100, "status.gpus[].index", (r'"index": 0, ', "")),
}


class Edited(contracts.Tree):
    """The working tree with a pattern replaced in all of its texts."""

    def __init__(self, pattern: str, text: str) -> None:
        super().__init__()
        self.pattern, self.text = pattern, text

    def read(self, name: str) -> str:
        return re.sub(self.pattern, self.text, super().read(name))


@pytest.mark.parametrize("title", contracts.CONTRACTS)
def test_a_change_is_noticed(title: str) -> None:
    least, name, change = CASES[title]
    read = contracts.CONTRACTS[title]
    now = read(contracts.Tree())
    assert len(now) >= least and name in now
    assert contracts.differences(now, now) == []
    assert any(one.startswith(f"{name}:") for one in contracts.differences(now, read(Edited(*change))))


def test_what_is_added_or_retired_is_no_difference() -> None:
    before = {"message A 1": "string x", "message A 2": "bool y"}
    assert contracts.differences(before, before | {"message A 2": contracts.RETIRED, "message A 3": "bool z"}) == []
    assert contracts.differences(before, {"message A 1": "string x"}) == ["message A 2: gone (bool y)"]


def test_all_formats_have_versions() -> None:
    assert set(contracts.formats(contracts.Tree())) == set(contracts.FORMATS)
