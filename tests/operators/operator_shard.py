"""Part of operator_coverage.py: compares some entries of PyTorch's operator samples on the device with the CPU.

Reads entry numbers from its arguments, prints one JSON line per entry (and one with only the number before
it starts, so that the parent knows which entry a crash or a hang belongs to).
"""

from __future__ import annotations

import argparse
import collections
import json
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any

import torch
from coverage_chance import check_chance
from coverage_entries import MOST_SAMPLES, database, dtype_of, samples, title
from coverage_forms import Form, IntoResults, Out, forms
from coverage_judge import Differs, compare, compare_values
from coverage_run import Run, run

#: New memory keeps whatever was there: only the form of these results can be compared.
UNDEFINED = ("empty", "new_empty", "empty_like", "empty_strided", "new_empty_strided", "empty_permuted", "resize_")
#: On the CPU these draw only for the elements that need it, maybe none; on a GPU for all.
DRAWS_AS_NEEDED = ("nn.functional.rrelu",)
#: A GPU's kernels treat given results as the CPU's do, though neither leaves there what the operator returns. The first
#: are put together of other operators on every device, and wrong about gaps on each. The others look at the number of
#: elements only: what has none keeps its form, (0, 2), where the operator returns (0,).
WRONG_EVERYWHERE = ("fft.ihfft2", "fft.ihfftn", "arange", "linspace", "logspace")
REFUSED = "the CPU's kernels refuse it"
CPU_ONLY = "PyTorch has it for the CPU only"
#: Exit status where the device is lost: this process cannot go on with the next entry.
LOST = 4


def attempt(action: Callable[[], Any]) -> tuple[Any, str | None]:
    try:
        return action(), None
    except Exception as error:
        kind = "" if type(error).__name__ == "Differs" else f"{type(error).__name__}: "
        return None, f"{kind}{' '.join(str(error).split())[:400]}"


def alike(results: list[Any], expected: list[Any]) -> bool:
    try:
        compare_values("result", results, expected, True)
    except Differs:
        return False
    return True


def device_is_lost() -> bool:
    """A worker that dies of an operator ends the session in the end: no entry after it can be compared."""
    return attempt(lambda: torch.ones(2, device="cuda").sum().item())[1] is not None


class Entry:
    """One operator, called in every form with every sample."""

    def __init__(self, op: Any, dtype: torch.dtype, most: int) -> None:
        self.op, self.dtype = op, dtype
        self.samples, self.known = samples(op, dtype, most)
        self.undefined = str(op.name).rpartition(".")[2] in UNDEFINED
        self.compared: collections.Counter[str] = collections.Counter()
        self.by_chance: collections.Counter[str] = collections.Counter()
        self.left_out: collections.Counter[str] = collections.Counter()
        self.failed: dict[str, str] = {}
        self.refused: dict[str, str] = {}  # per form, what the CPU says of the first sample that it refuses

    def check(self) -> None:
        gradients = self.op.supports_autograd and (self.dtype.is_floating_point or self.dtype.is_complex)
        for form in forms(self.op, gradients):
            for number, sample in enumerate(self.samples):
                if form.name in self.failed:
                    break
                _, wrong = attempt(lambda form=form, sample=sample: self.check_sample(form, sample))  # type: ignore[misc]
                if wrong:
                    self.failed[form.name] = f"sample {number}: {wrong}"

    def check_sample(self, form: Form, sample: Any) -> None:
        """Raises whatever is wrong on the device."""
        if why := form.refuses(sample):
            self.left_out[f"{form.name}: {why}"] += 1
            return
        expected: list[Any] | None = None
        if isinstance(form, Out):
            plain, wrong = attempt(lambda: run(Form(self.op, False), sample, "cpu", 1))
            expected = plain.results if plain else None
            if wrong or not any(isinstance(one, torch.Tensor) for one in expected or []):
                self.refuse(form, wrong or "no tensors")
                return
        reference, wrong = attempt(lambda: run(form, sample, "cpu", 1, expected))
        if wrong:
            self.refuse(form, wrong)
            return
        if isinstance(form, Out) and self.mends(reference, expected or []):
            reference = run(IntoResults(form), sample, "cpu", 1, expected)
        try:
            if reference.drawn:
                check_chance(form, sample, expected, reference)
            else:
                self.check_values(form, sample, expected, reference)
        except NotImplementedError as error:
            if not re.search(r"from the '(Sparse|SparseCsr|)CUDA' backend", str(error)):
                raise
            self.left_out[f"{form.name}: {CPU_ONLY}"] += 1  # so it is on a GPU
            return
        (self.by_chance if reference.drawn else self.compared)[form.name] += 1

    def mends(self, reference: Run, expected: list[Any]) -> bool:
        """Whether the CPU's kernel is wrong about the results that it was given, which a GPU's is not."""
        if reference.drawn or self.undefined or self.op.name in WRONG_EVERYWHERE:
            return False
        return not alike(reference.results, expected)

    def refuse(self, form: Form, why: str) -> None:
        self.left_out[f"{form.name}: {REFUSED}"] += 1
        self.refused.setdefault(form.name, why)

    def check_values(self, form: Form, sample: Any, expected: list[Any] | None, reference: Run) -> None:
        mine = run(form, sample, "cuda", 1, expected)
        drew = mine.drawn and any(isinstance(one, torch.Tensor) and one.numel() for one in mine.results)
        if drew and self.op.name not in DRAWS_AS_NEEDED:
            raise AssertionError("the GPU's generator goes on, but not the CPU's")
        compare(mine, reference, not self.undefined)

    def nothing(self) -> str:
        """Why no call was compared."""
        return CPU_ONLY if all(one.endswith(CPU_ONLY) for one in self.left_out) else REFUSED

    def said(self) -> dict[str, Any]:
        done = bool(self.compared or self.by_chance)
        result = "failed" if self.failed else "passed" if done else "skipped"
        return {
            "result": result,
            "why": "; ".join(f"{form}: {why}" for form, why in self.failed.items()) or ("" if done else self.nothing()),
            "samples": len(self.samples),
            "known": self.known,
            "compared": self.compared,
            "by_chance": self.by_chance,
            "left_out": self.left_out,
            "failed": self.failed,
            "refused": self.refused,
        }


def check(op: Any, most: int) -> dict[str, Any]:
    dtype = dtype_of(op)
    if dtype is None:
        return {"result": "skipped", "why": CPU_ONLY}
    entry, broken = attempt(lambda: Entry(op, dtype, most))
    if broken:
        return {"result": "failed", "why": f"no samples: {broken}", "failed": {"samples": broken}}
    entry.check()
    return entry.said()  # type: ignore[no-any-return]


def main() -> int:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--matrix-products", action="store_true", help="there is no cuBLAS: redirect these too")
    arguments.add_argument("--samples", type=int, default=MOST_SAMPLES, help="of one entry at most")
    arguments.add_argument("--named", action="store_true", help="entries by their names")
    arguments.add_argument("entries", nargs="*")
    args = arguments.parse_args()
    if args.matrix_products:
        from jitc.client_shim import torch_device

        torch_device.install(redirect=True, matrix_products=True)
    warnings.simplefilter("ignore")
    known = database()
    names = [title(op, dtype_of(op)) for op in known]
    print(json.dumps({"count": len(known)}), flush=True)
    for number in [names.index(one) for one in args.entries] if args.named else map(int, args.entries):
        print(json.dumps({"entry": number, "name": names[number]}), flush=True)
        result = check(known[number], args.samples)
        print(json.dumps({"entry": number, "name": names[number], **result}), flush=True)
        if result["result"] == "failed" and device_is_lost():
            return LOST  # another process goes on
    return 0


if __name__ == "__main__":
    sys.exit(main())
