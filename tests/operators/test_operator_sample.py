"""A part of the comparison of PyTorch's operators in every run; and that it notices what it is there for."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import coverage_page
import operator_coverage
import pytest
import torch
from coverage_chance import DRAWS, numbers, same_distribution
from coverage_forms import KINDS, Form, InPlace, Out
from coverage_judge import Differs, compare
from coverage_run import Run, run
from toolkit.stand_in import with_stand_in

#: One of each kind: statistics that are updated, results that are views or arguments, sizes that depend on data, random
#: numbers, lists, complex numbers, integers, new memory, empty results, calls that return nothing.
SAMPLE = (
    "add", "addmm", "bernoulli", "bitwise_and (int64)", "cat", "clamp", "cumsum", "empty", "exponential", "index_put",
    "linspace", "masked_select", "multinomial", "native_batch_norm", "nn_functional_batch_norm",
    "nn_functional_conv2d", "nn_functional_dropout", "nn_functional_instance_norm", "nn_functional_max_pool2d",
    "normal", "resize_", "scatter_add", "sort", "t", "unbind_copy", "unique", "view_as_real (complex64)", "where",
    "_foreach_add", "_foreach_zero",
)  # fmt: skip


@pytest.fixture(scope="module")
def results() -> dict[str, dict[str, Any]]:
    options = ["--matrix-products", "--named", "--samples", "3"]
    done = with_stand_in(str(Path(__file__).with_name("operator_shard.py")), *options, *SAMPLE)
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {line["name"]: line for line in lines if "result" in line}


@pytest.mark.parametrize("name", SAMPLE)
@pytest.mark.sampled
def test_an_operator_does_what_it_does_on_the_cpu(name: str, results: dict[str, dict[str, Any]]) -> None:
    assert results[name]["result"] == "passed", results[name]["why"]


def test_the_sample_has_every_form(results: dict[str, dict[str, Any]]) -> None:
    compared = {form for one in results.values() for form in one["compared"]}
    assert compared == {"function", "in place", *(f"out= {kind}" for kind in KINDS)}
    assert {form for one in results.values() for form in one["by_chance"]} == compared
    assert "in place" in results["add"]["compared"] and "in place" in results["_foreach_zero"]["compared"]


@dataclasses.dataclass
class Sample:
    input: Any
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = dataclasses.field(default_factory=dict)


Action = Callable[..., Any]


def judged(mine: Action, reference: Action, sample: Sample, form: type[Form] = Form) -> None:
    """Both on the CPU: mine stands for what the device does."""
    one, other = (run(form(action, True), sample, "cpu", 1) for action in (mine, reference))
    compare(one, other, True)


def normed(times: int) -> Action:
    def norm(x: torch.Tensor, mean: torch.Tensor, variance: torch.Tensor) -> torch.Tensor:
        for _ in range(times):
            result = torch.nn.functional.batch_norm(x, mean, variance, training=True)
        return result

    return norm


def test_statistics_that_are_updated_twice_are_noticed() -> None:
    sample = Sample(torch.randn(4, 3, requires_grad=True), (torch.zeros(3), torch.ones(3)))
    judged(normed(1), normed(1), sample)
    with pytest.raises(Differs, match="argument 1 afterwards"):
        judged(normed(2), normed(1), sample)


def zero_between(x: torch.Tensor) -> torch.Tensor:
    """Writes an element that is not the argument's, but in its memory."""
    torch.as_strided(x, (1,), (1,), x.storage_offset() + 1).zero_()
    return x + 1


@pytest.mark.parametrize(
    ("mine", "reference", "what"),
    [
        (zero_between, lambda x: x + 1, "argument 0 was written"),
        (lambda x: x.add_(0), lambda x: x + 0, "result 0 is 'argument 0' instead of 'new'"),
        (lambda x: x[:1].clone(), lambda x: x[:1], "result 0 is 'new' instead of 'view of argument 0'"),
        (lambda x: (x + 1, x)[0], lambda x: (x + 1).double(), "float32 instead of torch.float64"),
        (lambda x: x * 1.001, lambda x: x * 1, "result 0: Tensor-likes are not close"),
        (lambda x: (x * 1)[:2], lambda x: x * 1, "shape"),
        (lambda x: [x * 1, x * 2], lambda x: [x * 1], "2 results instead of 1"),
    ],
)
def test_other_differences_are_noticed(mine: Action, reference: Action, what: str) -> None:
    with pytest.raises(Differs, match=what):
        judged(mine, reference, Sample(torch.arange(1.0, 9.0)[::2]))


def test_gradients_are_compared() -> None:
    sample = Sample(torch.ones(3, requires_grad=True))
    with pytest.raises(Differs, match="gradient 0"):
        judged(lambda x: x.detach() + 2 * (x - x.detach()), lambda x: x * 1, sample)


def test_a_result_that_is_given_is_compared_with_its_strides() -> None:
    def kept(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        return torch.add(x, 1, out=out)

    def replaced(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        return out.set_(x + 1)  # type: ignore[call-overload, no-any-return]

    sample, expected = Sample(torch.ones(2, 3)), [torch.ones(2, 3)]
    form = Out(kept, "with gaps", KINDS["with gaps"])
    one, other = (run(Out(op, form.name, form.make), sample, "cpu", 1, expected) for op in (replaced, kept))
    assert other.memory[1].touched and other.links == ["argument 1"]
    with pytest.raises(Differs, match=r"result 0: strides \(3, 1\) instead of \(6, 24\)"):
        compare(one, other, True)


def test_in_place_writes_the_argument() -> None:
    sample = Sample(torch.ones(3, requires_grad=True), (2,))
    made = run(InPlace(torch.add, torch.Tensor.add_, True), sample, "cpu", 1)
    assert made.links == ["differentiable argument 1"]  # the leaf itself stays as it is
    assert not made.memory[0].touched and made.memory[1].contents.tolist() == [3.0] * 3


def drawn(action: Action, first: int) -> torch.Tensor:
    sample = Sample(torch.ones(5, 5, requires_grad=True))
    rows: list[Run] = [run(Form(action, True), sample, "cpu", first + number) for number in range(DRAWS)]
    return torch.stack([numbers(row) for row in rows])


def dropped(chance: float) -> Action:
    return lambda x: torch.nn.functional.dropout(x, chance)


def unmatched(x: torch.Tensor) -> torch.Tensor:
    """Dropout whose gradient has a mask of its own."""
    made = torch.nn.functional.dropout(x.detach(), 0.5)
    other = torch.nn.functional.dropout(x, 0.5)
    return made + other - other.detach()


def one_for_all(x: torch.Tensor) -> torch.Tensor:
    """The same number everywhere, where each should have its own."""
    return x * 2 * torch.rand(()).round()


def test_distributions() -> None:
    reference = drawn(dropped(0.5), 50_000)
    same_distribution(drawn(dropped(0.5), 1), reference)
    same_distribution(drawn(torch.ones_like, 1), drawn(torch.ones_like, 50_000))
    for wrong in (dropped(0.4), unmatched, one_for_all, lambda x: x * 1):
        with pytest.raises(Differs, match="another distribution"):
            same_distribution(drawn(wrong, 1), reference)


def test_the_page_counts_what_it_is_given() -> None:
    results = [
        {"entry": 0, "name": "a", "result": "passed", "why": "", "samples": 3, "known": 70, "failed": {},
         "compared": {"function": 3}, "by_chance": {}, "left_out": {"in place: too large": 2}},
        {"entry": 1, "name": "b", "result": "failed", "why": "x", "samples": 2, "known": 2,
         "failed": {"function": "sample 1: other | numbers"}, "compared": {}, "by_chance": {"function": 1},
         "left_out": {}, "commit": "def", "most_samples": 9},
        {"entry": 2, "name": "c", "result": "skipped", "why": "no type"},
    ]  # fmt: skip
    origin = {"commit": "abc", "date": "2026-01-02", "torch": "2", "device": "here", "seconds": 125, "cores": 3}
    page = coverage_page.text({**origin, "most_samples": 5, "results": results})
    assert "**1 of 3 entries pass, 1 fail, 1 have nothing to compare\nwith**" in page
    assert "5 samples of 72" in page and "2 minutes on 3 cores" in page
    assert "| function | 2 | 1 | 3 | 1 |" in page
    assert "| `b` | function | sample 1: other / numbers |" in page
    assert "| in place: too large | 2 | 1 | `a` |" in page
    assert "| `c` | no type |" in page
    assert "5 samples of an entry at most" in page and "| samples beyond those: 67 of 1 entries |" in page
    assert "1 of these entries were run again at commit def, with 9 samples at most: `b`." in page


def test_an_entry_that_is_run_again_keeps_its_result_until_then(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = [{"entry": number, "name": str(number), "result": "failed", "why": ""} for number in range(3)]
    known = {"commit": "abc", "seconds": 0, "results": before}
    args = argparse.Namespace(
        entries=[2, 0], again=True, seconds=1e9, limit=1.0, size=1, samples=9, json=tmp_path / "found"
    )
    given: list[list[int]] = []

    def shard(numbers: list[int], *_: Any) -> tuple[list[dict[str, Any]], int]:
        given.append(numbers)
        if numbers == [0]:  # the run is ended here
            raise KeyboardInterrupt
        return [{"entry": one, "name": str(one), "result": "passed"} for one in numbers], 3

    monkeypatch.setattr(operator_coverage, "shard", shard)
    with pytest.raises(KeyboardInterrupt):
        operator_coverage.run_all({}, [], args, known)
    assert given == [[], [2], [0]]
    kept = json.loads(args.json.read_text())
    assert (kept["commit"], kept["left"]) == ("abc", 1)
    assert [one["result"] for one in kept["results"]] == ["failed", "failed", "passed"]
    assert kept["results"][2]["most_samples"] == 9 and kept["results"][2]["commit"] != "abc"
