"""Fused optimizers, and norms whose gradient is made of saved statistics: operands and references (operand_cases.py).

PyTorch has CPU kernels for these, which the software device runs as they are. They have the most operands of all, so
they are looked at in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from operand_cases import Case, Results, integers, reals

SIZE = 6


def gradients(of: dict[str, Any]) -> list[torch.Tensor]:
    return [grad / of["grad_scale"] for grad in of["grads"]]


def skipped(of: dict[str, Any]) -> bool:
    return bool(of["found_inf"].item())


def unchanged(of: dict[str, Any], written: tuple[str, ...]) -> Results:
    return [of[name] for name in written]


def adam(decoupled: bool) -> Any:
    def reference(of: dict[str, Any], _: Results) -> Results:
        if skipped(of):
            return unchanged(of, ADAM)
        made: list[list[torch.Tensor]] = [[] for _ in range(5)]
        for i, grad in enumerate(gradients(of)):
            p, m, v, step = of["self"][i], of["exp_avgs"][i], of["exp_avg_sqs"][i], of["state_steps"][i]
            used = -grad if of["maximize"] else grad
            if decoupled:
                p = p * (1 - of["lr"] * of["weight_decay"])
            else:
                used = used + of["weight_decay"] * p
            m, v = m + (1 - of["beta1"]) * (used - m), of["beta2"] * v + (1 - of["beta2"]) * used**2
            largest = torch.maximum(of["max_exp_avg_sqs"][i], v) if of["amsgrad"] else v
            root = largest.sqrt() / (1 - of["beta2"] ** step).sqrt() + of["eps"]
            p = p - of["lr"] / (1 - of["beta1"] ** step) * m / root
            for found, one in zip(made, (p, grad, m, v, largest), strict=True):
                found.append(one)
        return made if of["amsgrad"] else made[:-1]

    return reference


def sgd(of: dict[str, Any], _: Results) -> Results:
    if skipped(of):
        return unchanged(of, SGD)
    made: list[list[torch.Tensor]] = [[], [], []]
    for i, grad in enumerate(gradients(of)):
        p, buffer = of["self"][i], of["momentum_buffer_list"][i]
        used = (-grad if of["maximize"] else grad) + of["weight_decay"] * p
        buffer = used if of["is_first_step"] else of["momentum"] * buffer + (1 - of["dampening"]) * used
        used = used + of["momentum"] * buffer if of["nesterov"] else buffer
        for found, one in zip(made, (p - of["lr"] * used, grad, buffer), strict=True):
            found.append(one)
    return made


def adagrad(of: dict[str, Any], _: Results) -> Results:
    if skipped(of):
        return unchanged(of, ADAGRAD)
    made: list[list[torch.Tensor]] = [[], [], []]
    for i, grad in enumerate(gradients(of)):
        p, step = of["self"][i], of["state_steps"][i]
        used = (-grad if of["maximize"] else grad) + of["weight_decay"] * p
        total = of["state_sums"][i] + used**2
        rate = of["lr"] / (1 + (step - 1) * of["lr_decay"])
        for found, one in zip(made, (p - rate * used / (total.sqrt() + of["eps"]), grad, total), strict=True):
            found.append(one)
    return made


ADAM = ("self", "grads", "exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs")
SGD = ("self", "grads", "momentum_buffer_list")
ADAGRAD = ("self", "grads", "state_sums")
SETTINGS: dict[str, tuple[Any, Any]] = {
    "lr": (0.1, 0.2), "lr_decay": (0.1, 0.3), "beta1": (0.9, 0.7), "beta2": (0.99, 0.8), "weight_decay": (0.01, 0.3),
    "momentum": (0.9, 0.5), "dampening": (0.1, 0.4), "nesterov": (False, True), "eps": (1e-3, 0.1),
    "amsgrad": (True, False), "maximize": (False, True), "is_first_step": (False, True),
}  # fmt: skip


def optimizer(name: str, reference: Any, written: tuple[str, ...], settings: str, steps: bool) -> Case:
    names = settings.split()
    first, second = ({one: SETTINGS[one][turn] for one in names} for turn in (0, 1))
    for turn, operands in enumerate((first, second)):
        for i, one in enumerate(written):
            operands[one] = [reals(SIZE, seed=10 * turn + i + 3 * part, positive=i > 1) for part in (0, 1)]
        if steps:
            operands["state_steps"] = [torch.tensor(step + 2.0 * turn, dtype=torch.float32) for step in (2.0, 3.0)]
        operands["grad_scale"] = torch.tensor(2.0 + turn, dtype=torch.float32)
        operands["found_inf"] = torch.tensor(float(turn), dtype=torch.float32)
    return Case(f"aten::{name}", first, second, reference, written=written, bound=1e-7)


def variants(case: Case) -> Iterator[Case]:
    """The same without the largest averages, which only one of the two values of amsgrad takes; and both with a
    learning rate that is a tensor."""
    cases = [case]
    if "amsgrad" in case.operands:
        del case.others["amsgrad"]
        without = {"amsgrad": False, "max_exp_avg_sqs": []}
        changed = {name: value for name, value in case.others.items() if name not in without}
        cases.append(replace(case, operands=case.operands | without, others=changed, name="without amsgrad"))
    for one in cases:
        yield one
        rates = ({"lr": torch.tensor(rate)} for rate in (one.operands["lr"], one.others["lr"]))
        operands, others = ({**given, **rate} for given, rate in zip((one.operands, one.others), rates, strict=True))
        yield replace(one, operator=f"{one.operator}.tensor_lr", operands=operands, others=others)


def optimizers() -> Iterator[Case]:
    adam_settings = "lr beta1 beta2 weight_decay eps amsgrad maximize"
    for name, decoupled in (("_fused_adam_", False), ("_fused_adamw_", True)):
        yield optimizer(name, adam(decoupled), ADAM, adam_settings, steps=True)
    sgd_settings = "weight_decay momentum lr dampening nesterov maximize is_first_step"
    yield optimizer("_fused_sgd_", sgd, SGD, sgd_settings, steps=False)
    yield optimizer("_fused_adagrad_", adagrad, ADAGRAD, "lr lr_decay weight_decay eps maximize", steps=True)


def layer_norm_backward(of: dict[str, Any], _: Results) -> Results:
    grad, weight = of["grad_out"], of["weight"]
    normal = (of["input"] - of["mean"]) * of["rstd"]
    part, over = grad * weight, tuple(range(-len(of["normalized_shape"]), 0))
    to_input = of["rstd"] * (part - part.mean(over, keepdim=True) - normal * (part * normal).mean(over, keepdim=True))
    found = [to_input, (grad * normal).sum_to_size(weight.shape), grad.sum_to_size(weight.shape)]
    return [one if wanted else None for one, wanted in zip(found, of["output_mask"], strict=True)]


def embedding_backward(of: dict[str, Any], _: Results) -> Results:
    made = torch.zeros(of["num_weights"], 3, dtype=torch.float64)
    indices = of["indices"].tolist()
    for row, word in zip(of["grad_output"], indices, strict=True):
        if word != of["padding_idx"]:
            made[word] += row / (indices.count(word) if of["scale_grad_by_freq"] else 1)
    return [made]


def update_scale(of: dict[str, Any], _: Results) -> Results:
    scale, tracker = of["self"], of["growth_tracker"]
    if of["found_inf"].item():
        made, tracker = scale * of["scale_backoff_factor"], tracker * 0
    else:
        grows = tracker + 1 == of["growth_interval"]
        made, tracker = torch.where(grows, scale * of["scale_growth_factor"], scale), torch.where(grows, 0, tracker + 1)
    return [made, made, tracker]


def others() -> Iterator[Case]:
    sizes = {
        "grad_out": (3, 2, 4),
        "input": (3, 2, 4),
        "mean": (3, 2, 1),
        "rstd": (3, 2, 1),
        "weight": (4,),
        "bias": (4,),
    }
    first, second = (
        {name: reals(*size, seed=i + turn) for i, (name, size) in enumerate(sizes.items())} for turn in (0, 20)
    )
    unused = {"bias": (second.pop("bias"), "a sum has the same gradient, whatever is added")}
    fixed: dict[str, Any] = {"normalized_shape": [4], "output_mask": [True, True, True]}
    case = Case(
        "aten::native_layer_norm_backward",
        first | fixed,
        second | {"output_mask": [True, False, True]},
        layer_norm_backward,
    )
    case.ignored = unused
    yield case
    wide = {name: reals(2, 4, seed=seed) for seed, name in enumerate(("weight", "bias"))} | {"normalized_shape": [2, 4]}
    saved = {name: first[name][:, :1] for name in ("mean", "rstd")}
    yield replace(case, operands=case.operands | wide | saved, others={}, ignored={}, name="of two dimensions")
    operands = {"grad_output": reals(6, 3), "indices": integers(1, 2, 4, 1, 5, 1), "num_weights": 6, "padding_idx": 2}
    changed = {
        "grad_output": reals(6, 3, seed=1),
        "indices": integers(1, 2, 4, 1, 5, 0),
        "num_weights": 7,
        "padding_idx": 1,
    }
    frequency = {"scale_grad_by_freq": True}, {"scale_grad_by_freq": False}
    yield Case("aten::embedding_dense_backward", operands | frequency[0], changed | frequency[1], embedding_backward)
    numbers: dict[str, Any] = {
        "self": torch.tensor(8.0), "growth_tracker": torch.tensor(2, dtype=torch.int32), "found_inf": torch.tensor(0.0),
        "scale_growth_factor": 2.0, "scale_backoff_factor": 0.5, "growth_interval": 3,
    }  # fmt: skip
    more: dict[str, Any] = {
        "self": torch.tensor(4.0), "growth_tracker": torch.tensor(1, dtype=torch.int32), "found_inf": torch.tensor(1.0),
        "scale_growth_factor": 3.0, "growth_interval": 4,
    }  # fmt: skip
    written = ("self", "growth_tracker")
    yield Case("aten::_amp_update_scale_", numbers, more, update_scale, written=written)
    infinite = numbers | {"found_inf": torch.tensor(1.0)}
    yield Case("aten::_amp_update_scale_", infinite, {"scale_backoff_factor": 0.25}, update_scale, written=written)


def cases() -> Iterator[Case]:
    for case in optimizers():
        yield from variants(case)
    yield from others()
