"""The forms in which an operator can be called: as a function, in place, and into results that are there already.

Called by: operator_shard.py and coverage_run.py. Promises: a form makes the same call on every device.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._pytree import tree_flatten

Action = Callable[[], Any]


@dataclasses.dataclass
class Call:
    action: Action
    #: Tensors that it writes, beside the arguments of the sample.
    written: list[torch.Tensor] = dataclasses.field(default_factory=list)


class Form:
    """The operator as a function."""

    name = "function"

    def __init__(self, op: Any, gradients: bool) -> None:
        self.op, self.gradients = op, gradients

    def refuses(self, _sample: Any) -> str | None:
        """Why this form does not exist for a sample."""
        return None

    def start(self, positional: Any, keywords: Any, _expected: list[Any], _device: str) -> Call:
        return Call(lambda: self.op(*positional, **keywords))


class InPlace(Form):
    """The operator writes its first argument: a copy of it where gradients are wanted, as autograd asks for."""

    name = "in place"

    def __init__(self, op: Any, inplace: Callable[..., Any], gradients: bool) -> None:
        super().__init__(op, gradients)
        self.inplace = inplace

    def refuses(self, sample: Any) -> str | None:
        return "the result is larger than the argument" if getattr(sample, "broadcasts_input", False) else None

    def start(self, positional: Any, keywords: Any, _expected: list[Any], _device: str) -> Call:
        first, *others = positional

        def own(one: Any) -> Any:
            return one.clone() if isinstance(one, torch.Tensor) and one.requires_grad else one

        target = [own(one) for one in first] if isinstance(first, list | tuple) else own(first)
        mine = [one for one in (target if isinstance(target, list) else [target]) if isinstance(one, torch.Tensor)]
        return Call(lambda: self.inplace(target, *others, **keywords), [one for one in mine if one.requires_grad])


def tight(like: torch.Tensor, device: str) -> torch.Tensor:
    return torch.full(tuple(like.size()), 7, dtype=like.dtype, device=device)


def empty(like: torch.Tensor, device: str) -> torch.Tensor:
    return torch.full((0,), 7, dtype=like.dtype, device=device)


def spread(like: torch.Tensor, device: str) -> torch.Tensor:
    """Dimensions the other way round, with gaps, and not at the beginning of its memory."""
    size = [2 * one for one in reversed(like.size())]
    whole = torch.full((*size, 3), 7, dtype=like.dtype, device=device)[..., 1]
    return whole[tuple(slice(None, None, 2) for _ in size)].permute(tuple(reversed(range(len(size)))))


def wrong(like: torch.Tensor, device: str) -> torch.Tensor:
    """PyTorch resizes it, with a warning."""
    return torch.full((*like.size(), 2), 7, dtype=like.dtype, device=device)


class Out(Form):
    """Into given results. expected are the results on the CPU, which say what they must look like."""

    def __init__(self, op: Any, kind: str, make: Callable[[torch.Tensor, str], torch.Tensor]) -> None:
        super().__init__(op, False)
        self.name, self.make = f"out= {kind}", make

    def start(self, positional: Any, keywords: Any, expected: list[Any], device: str) -> Call:
        out = [self.make(one, device) for one in expected if isinstance(one, torch.Tensor)]
        given: Any = out[0] if len(expected) == 1 else tuple(out)

        def into() -> Any:
            returned = self.op(*positional, **keywords, out=given)
            return given if returned is None else returned  # split_with_sizes_copy and unbind_copy return nothing

        return Call(into, out)


class IntoResults(Form):
    """What a call into given results must leave there: what the operator returns without them.

    It is the reference where the CPU's own kernel does otherwise: some ignore how results lie, unlike a GPU's."""

    def __init__(self, form: Out) -> None:
        super().__init__(form.op, False)
        self.form, self.name = form, form.name

    def start(self, positional: Any, keywords: Any, expected: list[Any], device: str) -> Call:
        call = self.form.start(positional, keywords, expected, device)

        def copied() -> Any:
            made = [one for one in tree_flatten(self.op(*positional, **keywords))[0] if isinstance(one, torch.Tensor)]
            for one, result in zip(call.written, made, strict=True):
                one.resize_(result.size()).copy_(result)
            return call.written

        return Call(copied, call.written)


KINDS = {"of the right size": tight, "empty": empty, "with gaps": spread, "of another size": wrong}


def forms(op: Any, gradients: bool) -> Iterator[Form]:
    from torch.testing._internal.opinfo.core import ForeachFuncInfo

    foreach = isinstance(op, ForeachFuncInfo)
    if not foreach or op.supports_out:  # elsewhere the operator exists in place only
        yield Form(op, gradients)
    inplace = op.get_inplace()
    if inplace is not None:
        yield InPlace(op, inplace, gradients and bool(op.supports_inplace_autograd))
    if op.supports_out and not foreach:
        for kind, make in KINDS.items():
            yield Out(op, kind, make)
