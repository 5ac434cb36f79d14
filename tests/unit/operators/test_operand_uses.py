"""Every operator that jitc puts together uses each of its operands as CUDA's kernel does, or says why it does not.

The operators are found in the sources: a new one without cases fails. operand_uses.py has the comparison.
"""

from __future__ import annotations

import json
import re
from typing import Any

import operand_uses
import pytest
import torch
from operand_cases import Case, reals
from toolkit.stand_in import with_stand_in
from toolkit.tree import ROOT

SOURCES = ROOT / "proxy" / "native" / "operators"
PROGRAM = ROOT / "tests" / "unit" / "operators" / "operand_uses.py"


def composed() -> list[str]:
    """The names in the tables of composed operators."""
    found: list[str] = []
    for source in sorted(SOURCES.rglob("*.cpp")):
        for table in re.findall(r"NamedComposed k\w+\[\] = \{(.*?)\n *\};", source.read_text(), re.DOTALL):
            found += re.findall(r'\{"([\w:.]+)", &', table)
    return found


CASES = operand_uses.all_cases()
#: Releases of PyTorch differ in which operators there are, and in the form of some.
ELSEWHERE = {case.operator for case in CASES if not operand_uses.fits(case)}
OPERATORS = sorted({*composed(), *(case.operator for case in CASES)} - ELSEWHERE)


@pytest.fixture(scope="module")
def wrong() -> dict[str, list[str]]:
    done = with_stand_in(str(PROGRAM))
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


def test_all_tables_are_found() -> None:
    tables = sum(source.read_text().count("NamedComposed k") for source in SOURCES.rglob("*.cpp"))
    assert (tables, len(composed()) > 20) == (5, True)


@pytest.mark.skipif(not torch.__version__.startswith("2.11."), reason="the cases have the operators of 2.11")
def test_none_is_of_another_release() -> None:
    assert not ELSEWHERE


@pytest.mark.parametrize("operator", OPERATORS)
def test_each_operand_is_used(operator: str, wrong: dict[str, list[str]]) -> None:
    assert wrong[operator] == []


def differing(cases: list[Case]) -> set[str]:
    """Operands that cases begin with other values of."""
    first = {name: str(value) for name, value in cases[0].operands.items()}
    return {name for case in cases for name, value in case.operands.items() if str(value) != first[name]}


@pytest.mark.parametrize("operator", OPERATORS)
def test_no_operand_is_left_out(operator: str) -> None:
    schema = operand_uses.overload(operator)._schema
    cases = [case for case in CASES if case.operator == operator]
    assert cases, f"{operator} has no cases: add them to operand_cases.py and the modules that it names"
    looked_at = {name for case in cases for name in (*case.others, *case.ignored, *case.refused)} | differing(cases)
    results = {one.name for one in schema.arguments if one.is_out}
    assert {one.name for one in schema.arguments} - results == looked_at - results


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.operator} {case.name}".strip())
def test_what_is_not_used_has_a_reason(case: Case) -> None:
    assert all(reason for _, reason in (*case.ignored.values(), *case.refused.values()))
    assert not {*case.ignored, *case.refused} & {*case.others}


def judged(operator: Any, **more: Any) -> list[str]:
    """Of an operator that should give the sum of a product, in this process."""
    operands: dict[str, Any] = {"x": reals(3), "y": reals(3, seed=1), "times": 2.0}
    others: dict[str, Any] = {"x": reals(3, seed=2), "y": reals(3, seed=3), "times": 3.0}
    case = Case("", operands, others, lambda of, _: [of["x"] * of["y"] * of["times"]], **more)
    return operand_uses.Judge(case, operator).judge()


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operands stay where they are."""
    monkeypatch.setattr(torch.Tensor, "cuda", lambda one: one)
    monkeypatch.setattr(torch.cuda, "manual_seed", lambda _: None)


@pytest.mark.usefixtures("here")
def test_the_comparison_sees_what_is_ignored() -> None:
    assert judged(lambda x, y, times: x * y * times) == []
    (said,) = judged(lambda x, y, times: x * y * 2)
    assert said.startswith("times: ") and said.endswith("off when it is changed")
    (said,) = judged(lambda x, y, times: x * reals(3, seed=1) * times)
    assert said.startswith("y: ")
    assert judged(lambda x, y, times: x * y)[0].startswith("as it is: ")
    unread = {"ignored": {"times": (5.0, "it is not")}}
    assert judged(lambda x, y, times: x * y * times, **unread) == ["times: said to be ignored, and is not"]
    refused = {"refused": {"times": (5.0, "it is not")}}
    assert judged(lambda x, y, times: x * y * times, **refused) == ["times: said to be refused, and is not"]
