"""One run of an operator on one device, and all that it leaves behind.

Called by: coverage_judge.py and coverage_chance.py. Promises: arguments of two runs are alike down to the memory
between their elements, and no run sees what another one wrote.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from coverage_forms import Form
from torch.utils._pytree import tree_flatten, tree_map


def flat(storage: Any, dtype: torch.dtype, device: Any) -> torch.Tensor:
    """All elements of a storage; bytes after the last whole element are left out."""
    size = storage.nbytes() // dtype.itemsize
    return torch.empty(0, dtype=dtype, device=device).set_(storage, 0, (size,), (1,))


def has_memory(tensor: torch.Tensor) -> bool:
    return tensor.layout == torch.strided and not tensor.is_nested and not tensor.is_quantized


class Arguments:
    """A copy of a sample's input on a device, with leaves of its own and the memory laid out as in the original.

    CPU tensors stay where they are for "cuda". Tensors that share memory in the sample share it in the copy.
    """

    def __init__(self, sample: Any, device: str, gradients: bool) -> None:
        self.device, self.gradients = device, gradients
        self._storages: dict[int, torch.Tensor] = {}
        self._tensors: dict[int, torch.Tensor] = {}
        self.positional, self.keywords = tree_map(self._one, ((sample.input, *sample.args), dict(sample.kwargs)))

    def _one(self, item: Any) -> Any:
        if isinstance(item, torch.Tensor):
            if id(item) not in self._tensors:
                self._tensors[id(item)] = self._tensor(item)
            return self._tensors[id(item)]
        if isinstance(item, torch.device) or (isinstance(item, str) and item.startswith("cuda")):
            return self.device
        return item

    def _tensor(self, item: torch.Tensor) -> torch.Tensor:
        place = self.device if self.device == "cpu" else item.device
        given = item.detach()
        if not has_memory(given) or given.is_conj() or given.is_neg():
            made = given.to(place, copy=True)
        else:
            storage = given.untyped_storage()
            if storage._cdata not in self._storages:
                self._storages[storage._cdata] = flat(storage, given.dtype, given.device).to(place, copy=True)
            base = self._storages[storage._cdata]
            if base.dtype != given.dtype:
                base = base.view(given.dtype)
            made = base.as_strided(given.size(), given.stride(), given.storage_offset())
        return made.requires_grad_(item.requires_grad and self.gradients)

    def tensors(self) -> list[torch.Tensor]:
        return [one for one in tree_flatten((self.positional, self.keywords))[0] if isinstance(one, torch.Tensor)]


@dataclasses.dataclass
class Memory:
    """A tensor of the arguments after the run, with all the memory that it is part of."""

    size: tuple[int, ...]
    stride: tuple[int, ...]
    contents: torch.Tensor
    before: torch.Tensor

    @property
    def touched(self) -> bool:
        return not same_bytes(self.contents, self.before)


@dataclasses.dataclass
class Run:
    """results, gradients: on the CPU, in order. links: what a result has to do with the arguments. strides: of results.
    drawn: whether random numbers were taken; on the GPU, how many steps its generator went on. on_cpu: as asked for."""

    results: list[Any]
    gradients: list[torch.Tensor | None]
    memory: list[Memory]
    links: list[str]
    strides: list[tuple[int, ...] | None]
    drawn: int
    on_cpu: bool


def same_bytes(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return torch.equal(as_bytes(one), as_bytes(other))


def as_bytes(tensor: torch.Tensor) -> torch.Tensor:
    row = tensor.resolve_conj().resolve_neg().reshape(-1)
    return row.clone(memory_format=torch.contiguous_format).view(torch.uint8)


def contents(tensor: torch.Tensor) -> torch.Tensor:
    """All that the tensor's memory holds, on the CPU, as a row."""
    if not has_memory(tensor):
        return tensor.detach().to_dense().cpu().flatten()
    made = flat(tensor.detach().untyped_storage(), tensor.dtype, tensor.device)
    return made.clone() if made.device.type == "cpu" else made.cpu()


def link(result: Any, given: list[torch.Tensor]) -> str:
    """Whether a result is an argument, or a view of one; and whether a gradient can be asked of it."""
    if not isinstance(result, torch.Tensor):
        return ""
    said = "differentiable " if result.requires_grad else ""
    for number, one in enumerate(given):
        if one is result:
            return f"{said}argument {number}"
    if has_memory(result) and result.numel():
        for number, one in enumerate(given):
            if has_memory(one) and one.untyped_storage()._cdata == result.untyped_storage()._cdata:
                return f"{said}view of argument {number}"
    return said


def strides(result: Any) -> tuple[int, ...] | None:
    """Of the dimensions in which there is a step to make."""
    if not isinstance(result, torch.Tensor) or not has_memory(result) or not result.numel():
        return None
    return tuple(stride for stride, size in zip(result.stride(), result.size(), strict=True) if size > 1)


def offset() -> int:
    """How far the GPU's default generator has got."""
    return int(torch.cuda.get_rng_state().view(torch.int64)[1]) if torch.cuda.is_initialized() else 0


def slopes(outputs: list[Any], leaves: list[torch.Tensor]) -> list[torch.Tensor | None]:
    roots = [
        one
        for one in outputs
        if isinstance(one, torch.Tensor) and one.requires_grad and (one.is_floating_point() or one.is_complex())
    ]
    if not leaves or not roots:
        return []
    weights = [torch.linspace(0.5, 1.5, max(one.numel(), 1))[: one.numel()].reshape(one.shape).to(one) for one in roots]
    return list(torch.autograd.grad(roots, leaves, weights, allow_unused=True))


def fetched(value: Any) -> Any:
    return value.detach().cpu() if isinstance(value, torch.Tensor) else value


def run(form: Form, sample: Any, device: str, seed: int | None, expected: list[Any] | None = None) -> Run:
    """Calls the operator; what it writes is seen after the backward pass. None: goes on with the generators as they
    are. expected: results that out= arguments are made for."""
    arguments = Arguments(sample, device, form.gradients)
    before = [contents(one) for one in arguments.tensors()]
    if seed is not None:
        torch.manual_seed(seed)
    drawn, state = offset(), torch.get_rng_state()
    call = form.start(arguments.positional, arguments.keywords, expected or [], device)
    given = [*arguments.tensors(), *call.written]
    before += [contents(one) for one in call.written]
    with torch.set_grad_enabled(form.gradients):
        outputs = tree_flatten(call.action())[0]
    leaves = [one for one in arguments.tensors() if one.requires_grad]
    gradients = slopes(outputs, leaves)
    moved = offset() - drawn if device == "cuda" else int(not torch.equal(torch.get_rng_state(), state))
    return Run(
        [fetched(one) for one in outputs],
        [fetched(one) for one in gradients],
        [
            Memory(tuple(one.size()), tuple(one.stride()) if has_memory(one) else (), contents(one), was)
            for one, was in zip(given, before, strict=True)
        ],
        [link(one, given) for one in outputs],
        [strides(one) for one in outputs],
        moved,
        all(one.is_cpu for one in outputs if isinstance(one, torch.Tensor)),
    )
