"""Calls operators with each operand changed in turn, on the software device, and compares with references in float64.

Run by test_operand_uses.py with the stand-in of the device preloaded: `operand_uses.py`. Prints a JSON object: what is
wrong with each operator, an empty list where nothing is. What an operator does with an operand is judged by what it
gives: right is what the reference gives for the same operands; an operand that counts must change the reference, or
the case shows nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import operand_attention
import operand_optimizers
import operand_parts
import operand_sigmoid
import torch
from operand_cases import Case, Results

#: How much an operand that counts must change the reference, in bounds.
CHANGE = 100
#: A reference in one of these says that the result is of that type; else it says nothing about types.
NARROW = (torch.float16, torch.bfloat16)


def all_cases() -> list[Case]:
    return [*operand_attention.cases(), *operand_parts.cases(), *operand_optimizers.cases(), *operand_sigmoid.cases()]


def mapped(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, list) and value and isinstance(value[0], torch.Tensor):
        return [change(one) for one in value]
    return value


def flat(results: Results) -> list[Any]:
    return [part for one in results for part in (one if isinstance(one, list) else [one])]


def overload(name: str) -> Any:
    """None where this release of PyTorch does not have it."""
    space, rest = name.split("::")
    base, _, which = rest.partition(".")
    packet = getattr(getattr(torch.ops, space), base, None)
    return getattr(packet, which or "default", None)


def fits(case: Case) -> bool:
    """Whether the operator takes these operands in this release."""
    operator = overload(case.operator)
    return operator is not None and {*case.operands} <= {one.name for one in operator._schema.arguments}


def call(case: Case, operator: Any, operands: dict[str, Any]) -> Results:
    """On the device; what comes back lies on the host."""
    placed = {name: mapped(value, lambda one: one.clone().cuda()) for name, value in operands.items()}
    made = operator(**placed)
    results = [] if made is None else list(made) if isinstance(made, Sequence) else [made]
    return [mapped(one, lambda each: each.cpu()) for one in [*results, *(placed[name] for name in case.written)]]


def expected(case: Case, operands: dict[str, Any], results: Results) -> list[Any]:
    def wide(one: torch.Tensor) -> torch.Tensor:
        return one.double() if one.is_floating_point() else one.clone()

    return flat(case.reference({name: mapped(value, wide) for name, value in operands.items()}, results))


def off(got: Any, wanted: Any) -> float:
    """How far a result is from the wanted one, relative to it; infinite where they cannot be compared."""
    if not isinstance(wanted, torch.Tensor) or not isinstance(got, torch.Tensor):
        return 0.0 if got is None and wanted is None else float("inf")
    if got.shape != wanted.shape or (wanted.dtype in NARROW and got.dtype != wanted.dtype):
        return float("inf")
    got, wanted = got.double(), wanted.double()
    finite = wanted.isfinite()
    if not torch.equal(got[~finite], wanted[~finite]):
        return float("inf")
    size = wanted[finite].norm().item() or 1.0
    return float((got[finite] - wanted[finite]).norm().item() / size)


def distance(got: Sequence[Any], wanted: Sequence[Any]) -> float:
    """Of the worst of the results that the reference has."""
    return max((off(*pair) for pair in zip(flat(got), flat(wanted), strict=False)), default=float("inf"))


def same(one: Results, other: Results) -> bool:
    pairs = zip(flat(one), flat(other), strict=True)
    return all(a is b or (isinstance(a, torch.Tensor) and torch.equal(a, b)) for a, b in pairs)


class Judge:
    def __init__(self, case: Case, operator: Any) -> None:
        self.case, self.operator = case, operator
        self.wrong: list[str] = []

    def ask(self, operands: dict[str, Any]) -> tuple[Results, list[Any]]:
        """The operator's results, as many as the reference has, and the reference."""
        torch.manual_seed(0)
        torch.cuda.manual_seed(0)
        results = call(self.case, self.operator, operands)
        wanted = expected(self.case, operands, results)
        kept = results if self.case.written == () else [*results[: len(results) - len(self.case.written)]]
        first = kept[: len(wanted)]
        return [*first, *results[len(kept) :]], wanted

    def judge(self) -> list[str]:
        base, wanted = self.ask(self.case.operands)
        if (far := distance(base, wanted)) > self.case.bound:
            self.wrong.append(f"as it is: {far:.1e} off")
        for name, value in self.case.others.items():
            self.counts(name, value, wanted)
        for name, (value, _) in self.case.ignored.items():
            if not same(base, self.ask(self.case.operands | {name: value})[0]):
                self.wrong.append(f"{name}: said to be ignored, and is not")
        for name, (value, _) in self.case.refused.items():
            self.refuses(name, value)
        for dtype, bound in self.case.types.items():
            self.in_type(dtype, bound)
        return self.wrong

    def counts(self, name: str, value: Any, before: list[Any]) -> None:
        got, wanted = self.ask(self.case.operands | {name: value})
        if distance(before, wanted) < CHANGE * self.case.bound:
            self.wrong.append(f"{name}: the case does not change the reference")
        elif (far := distance(got, wanted)) > self.case.bound:
            self.wrong.append(f"{name}: {far:.1e} off when it is changed")

    def refuses(self, name: str, value: Any) -> None:
        try:
            call(self.case, self.operator, self.case.operands | {name: value})
        except NotImplementedError:
            return
        self.wrong.append(f"{name}: said to be refused, and is not")

    def in_type(self, dtype: torch.dtype, bound: float) -> None:
        def narrow(one: torch.Tensor) -> torch.Tensor:
            return one.to(dtype) if one.dtype == torch.float64 else one

        got, wanted = self.ask({name: mapped(value, narrow) for name, value in self.case.operands.items()})
        if (far := distance(got, wanted)) > bound:
            self.wrong.append(f"in {dtype}: {far:.1e} off")


def main() -> None:
    from jitc.client_shim import torch_device

    torch_device.install(redirect=True, matrix_products=True)
    torch.use_deterministic_algorithms(True, warn_only=True)
    found: dict[str, list[str]] = {}
    for case in filter(fits, all_cases()):
        wrong = found.setdefault(case.operator, [])
        try:
            wrong += [f"{case.name} {one}".strip() for one in Judge(case, overload(case.operator)).judge()]
        except Exception as error:
            wrong.append(f"{case.name} {type(error).__name__}: {str(error).partition(chr(10))[0]}".strip())
    print(json.dumps(found))


if __name__ == "__main__":
    main()
