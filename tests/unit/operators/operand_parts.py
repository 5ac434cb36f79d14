"""Recurrent cells, norms, softmax, and others that jitc puts together: operands and references (operand_cases.py)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import operand_bags
import torch
from operand_cases import Case, Results, reals

ROWS, WIDTH = 3, 4
TYPE_ALONE = "the kernel takes a type from it, and no number"


def lstm(of: dict[str, Any], _: Results) -> Results:
    gates = of["input_gates"] + of["hidden_gates"] + of["input_bias"] + of["hidden_bias"]
    i, f, g, o = gates.chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cy = f * of["cx"] + i * g
    return [o * cy.tanh(), cy, torch.cat([i, f, g, o], 1)]


def lstm_backward(of: dict[str, Any], _: Results) -> Results:
    i, f, g, o = of["workspace"].chunk(4, 1)
    bent = of["cy"].tanh()
    cell = of["grad_hy"] * o * (1 - bent**2) + of["grad_cy"]
    parts = (
        cell * g * i * (1 - i),
        cell * of["cx"] * f * (1 - f),
        cell * i * (1 - g**2),
        of["grad_hy"] * bent * o * (1 - o),
    )
    gates = torch.cat(parts, 1)
    return [gates, cell * f, gates.sum(0) if of["has_bias"] else None]


def gru(of: dict[str, Any], _: Results) -> Results:
    from_input, from_hidden = of["input_gates"] + of["input_bias"], of["hidden_gates"] + of["hidden_bias"]
    (ir, iz, new), (hr, hz, hn) = from_input.chunk(3, 1), from_hidden.chunk(3, 1)
    r, z = (ir + hr).sigmoid(), (iz + hz).sigmoid()
    n = (new + r * hn).tanh()
    return [n + z * (of["hx"] - n), torch.cat([r, z, n, of["hx"], hn], 1)]


def gru_backward(of: dict[str, Any], _: Results) -> Results:
    r, z, n, hx, hn = of["workspace"].chunk(5, 1)
    grad = of["grad_hy"]
    to_new = grad * (1 - z) * (1 - n**2)
    to_reset, to_update = to_new * hn * r * (1 - r), grad * (hx - n) * z * (1 - z)
    inputs, hidden = torch.cat([to_reset, to_update, to_new], 1), torch.cat([to_reset, to_update, to_new * r], 1)
    sums = [inputs.sum(0), hidden.sum(0)] if of["has_bias"] else [None, None]
    return [inputs, hidden, grad * z, *sums]


def rms_norm(of: dict[str, Any], _: Results) -> Results:
    over = tuple(range(-len(of["normalized_shape"]), 0))
    rstd = (of["input"].square().mean(over, keepdim=True) + of["eps"]).rsqrt()
    normal = of["input"] * rstd
    return [normal if of["weight"] is None else normal * of["weight"], rstd]


def rms_norm_backward(of: dict[str, Any], _: Results) -> Results:
    over = tuple(range(-len(of["normalized_shape"]), 0))
    grad, weight = of["grad_out"], 1.0 if of["weight"] is None else of["weight"]
    normal = of["input"] * of["rstd"]
    to_input = of["rstd"] * (grad * weight - normal * (grad * weight * normal).mean(over, keepdim=True))
    to_weight, wanted = (grad * normal).sum_to_size(of["normalized_shape"]), of["output_mask"]
    return [to_input if wanted[0] else None, to_weight if wanted[1] and of["weight"] is not None else None]


def channel(values: torch.Tensor) -> torch.Tensor:
    return values.reshape(1, -1, 1)


def batch_norm_stats(of: dict[str, Any], _: Results) -> Results:
    x = of["input"]
    return [x.mean((0, 2)), (x.var((0, 2), correction=0) + of["eps"]).rsqrt()]


def batch_norm_elemt(of: dict[str, Any], _: Results) -> Results:
    normal = (of["input"] - channel(of["mean"])) * channel(of["invstd"])
    return [normal * channel(of["weight"]) + channel(of["bias"])]


def batch_norm_gather(of: dict[str, Any], _: Results) -> Results:
    """Beside its two results: what the running statistics are afterwards."""
    counts = torch.full((ROWS,), float(of["count"])) if "count" in of else of["counts"]
    counts = counts.double()[:, None]
    total = counts.sum()
    mean = (of["mean"] * counts).sum(0) / total
    squares = ((of["invstd"] ** -2 - of["eps"] + (of["mean"] - mean) ** 2) * counts).sum(0)
    momentum = of["momentum"]
    running = [
        (1 - momentum) * of["running_mean"] + momentum * mean,
        (1 - momentum) * of["running_var"] + momentum * squares / (total - 1),
    ]
    return [mean, (squares / total + of["eps"]).rsqrt(), *running]


def batch_norm_reduce(of: dict[str, Any], _: Results) -> Results:
    grad = of["grad_out"]
    sums, centred = grad.sum((0, 2)), (grad * (of["input"] - channel(of["mean"]))).sum((0, 2))
    to_input = [sums, centred] if of["input_g"] else [None, None]
    return [*to_input, centred * of["invstd"] if of["weight_g"] else None, sums if of["bias_g"] else None]


def batch_norm_backward(of: dict[str, Any], _: Results) -> Results:
    count = of["count"].sum()
    slope = of["sum_dy_xmu"] / count * of["invstd"] ** 2
    centred = (of["input"] - channel(of["mean"])) * channel(slope)
    rest = of["grad_out"] - channel(of["sum_dy"] / count) - centred
    return [rest * channel(of["invstd"] * of["weight"])]


def masked_scale(of: dict[str, Any], _: Results) -> Results:
    return [of["self"] * of["mask"] * of["scale"]]


def cdist_backward(of: dict[str, Any], _: Results) -> Results:
    """Of the p-norm: each pair's part lies along the difference of its two points."""
    difference = of["x1"][:, None] - of["x2"][None]
    grad, distance, p = of["grad"][..., None], of["cdist"][..., None], of["p"]
    if p == 1:
        parts = grad * difference.sign()
    elif math.isinf(p):
        parts = grad * difference.sign() * (difference.abs() == distance)
    else:
        parts = grad * difference.sign() * difference.abs() ** (p - 1) / distance ** (p - 1)
    return [parts.sum(1)]


def softmax(of: dict[str, Any], _: Results) -> Results:
    return [of["self"].softmax(of["dim"])]


def log_softmax(of: dict[str, Any], _: Results) -> Results:
    return [of["self"].log_softmax(of["dim"])]


def softmax_backward(of: dict[str, Any], _: Results) -> Results:
    grad, output, dim = of["grad_output"], of["output"], of["dim"]
    return [(output * (grad - (output * grad).sum(dim, keepdim=True))).to(of["input_dtype"])]


def log_softmax_backward(of: dict[str, Any], _: Results) -> Results:
    grad, output, dim = of["grad_output"], of["output"], of["dim"]
    return [(grad - output.exp() * grad.sum(dim, keepdim=True)).to(of["input_dtype"])]


def tensors(seed: int, **sizes: tuple[int, ...]) -> dict[str, Any]:
    return {name: reals(*size, seed=seed + i) for i, (name, size) in enumerate(sizes.items())}


def both(
    operator: str,
    reference: Any,
    sizes: dict[str, tuple[int, ...]],
    types: dict[torch.dtype, float] | None = None,
    **settings: Any,
) -> Case:
    """settings: an operand's two values; one that is twice the same is not changed."""
    first, second = ({name: values[i] for name, values in settings.items()} for i in (0, 1))
    changed = {
        name: value for name, value in second.items() if value is not first[name] and str(value) != str(first[name])
    }
    operands = tensors(0, **sizes) | first
    return Case(f"aten::{operator}", operands, tensors(50, **sizes) | changed, reference, types=types or {})


def cells() -> Iterator[Case]:
    for name, reference, parts, state in (("lstm", lstm, 4, "cx"), ("gru", gru, 3, "hx")):
        gates, wide = (ROWS, parts * WIDTH), (parts * WIDTH,)
        sizes = {"input_gates": gates, "hidden_gates": gates, state: (ROWS, WIDTH)}
        yield both(f"_thnn_fused_{name}_cell", reference, sizes | {"input_bias": wide, "hidden_bias": wide})
    one = (ROWS, WIDTH)
    sizes = {"grad_hy": one, "grad_cy": one, "cx": one, "cy": one, "workspace": (ROWS, 4 * WIDTH)}
    yield both("_thnn_fused_lstm_cell_backward_impl", lstm_backward, sizes, has_bias=(True, False))
    sizes = {"grad_hy": one, "workspace": (ROWS, 5 * WIDTH)}
    yield both("_thnn_fused_gru_cell_backward", gru_backward, sizes, has_bias=(True, False))


def rms_norms() -> Iterator[Case]:
    x, bfloat = (ROWS, 2, WIDTH), {torch.bfloat16: 2e-2}
    settings: dict[str, Any] = {"normalized_shape": ([WIDTH], [2, WIDTH]), "weight": (None, None), "eps": (1e-3, 0.5)}
    yield both("_fused_rms_norm", rms_norm, {"input": x}, **settings)
    settings |= {"normalized_shape": ([WIDTH], [WIDTH]), "weight": (reals(WIDTH), reals(WIDTH, seed=9))}
    yield both("_fused_rms_norm", rms_norm, {"input": x}, **settings, types=bfloat)
    sizes = {"grad_out": x, "input": x, "rstd": (ROWS, 2, 1)}
    settings.pop("eps")
    for wanted in ([True, False], [False, True], [False, False]):
        masks = {"output_mask": ([True, True], wanted)}
        yield both("_fused_rms_norm_backward", rms_norm_backward, sizes, **settings, **masks)
    narrow = {"grad_out": x, "input": x, "rstd": (ROWS, 1, 1)}
    wide = {
        "normalized_shape": ([2, WIDTH], [2, WIDTH]),
        "weight": (None, reals(2, WIDTH)),
        "output_mask": ([True] * 2,) * 2,
    }
    yield both("_fused_rms_norm_backward", rms_norm_backward, narrow, **wide)


def batch_norms() -> Iterator[Case]:
    x, per = (ROWS, WIDTH, 5), (WIDTH,)
    yield both("batch_norm_stats", batch_norm_stats, {"input": x}, eps=(1e-3, 0.5))
    case = both(
        "batch_norm_elemt",
        batch_norm_elemt,
        {"input": x, "weight": per, "bias": per, "mean": per, "invstd": per},
        eps=(1e-3,) * 2,
    )
    yield ignoring(case, eps=(0.5, "it is in the reciprocal deviation already"))
    ranks = {"input": x, "mean": (ROWS, WIDTH), "running_mean": per, "running_var": per}
    inverse = {"invstd": (reals(ROWS, WIDTH, seed=8, positive=True), reals(ROWS, WIDTH, seed=9, positive=True))}
    settings = inverse | {"momentum": (0.1, 0.4), "eps": (1e-3, 2e-3)}
    counts = {"counts": (torch.tensor([4.0, 5, 6]).double(), torch.tensor([4.0, 9, 1]).double())}
    for more, count in (("", {"count": (5, 9)}), ("_with_counts", counts)):
        case = both(f"batch_norm_gather_stats{more}", batch_norm_gather, ranks, **settings, **count)
        case.written = ("running_mean", "running_var")
        yield ignoring(case, input=(reals(*x, seed=3), TYPE_ALONE))
    sizes = {"grad_out": x, "input": x, "mean": per, "invstd": per, "weight": per}
    wanted = {name: (True, False) for name in ("input_g", "weight_g", "bias_g")}
    case = both("batch_norm_backward_reduce", batch_norm_reduce, sizes, **wanted)
    yield ignoring(case, weight=(reals(*per, seed=3), TYPE_ALONE))
    whole = {"count": (torch.tensor([4, 5, 6], dtype=torch.int32), torch.tensor([4, 5, 9], dtype=torch.int32))}
    yield both("batch_norm_backward_elemt", batch_norm_backward, sizes | {"sum_dy": per, "sum_dy_xmu": per}, **whole)


def softmaxes() -> Iterator[Case]:
    x = (ROWS, 2, WIDTH)
    for name, forward, backward in (
        ("_softmax", softmax, softmax_backward),
        ("_log_softmax", log_softmax, log_softmax_backward),
    ):
        yield both(name, forward, {"self": x}, dim=(2, 0), half_to_float=(False, False))
        half = {name: reals(*x, seed=seed).half() for seed, name in enumerate(("self", "other"))}
        settings = {"self": half["self"], "dim": 2, "half_to_float": True}
        others = {"self": half["other"], "dim": 1}
        yield Case(f"aten::{name}", settings, others, forward, bound=1e-6, name="from half")
        narrow = others | {"half_to_float": False}
        yield Case(f"aten::{name}", settings, narrow, rounded(forward), bound=1e-3, name="half")
        sizes, types = {"grad_output": x, "output": x}, {"input_dtype": (torch.float64,) * 2}
        yield both(f"{name}_backward_data", backward, sizes, dim=(2, 0), **types)
        operands = {name: value.float() for name, value in tensors(0, **sizes).items()} | {"dim": 2}
        turn = {"input_dtype": torch.float32}
        yield Case(
            f"aten::{name}_backward_data",
            operands | {"input_dtype": torch.float16},
            turn,
            backward,
            bound=1e-7,
            name="to half",
        )


def rounded(reference: Any) -> Any:
    """The result of a forward call that does not widen is of the operand's type."""

    def made(of: dict[str, Any], results: Results) -> Results:
        (result,) = reference(of, results)
        return [result if of["half_to_float"] else result.half()]

    return made


def others() -> Iterator[Case]:
    mask = torch.tensor([[1, 0, 1, 1]] * ROWS, dtype=torch.uint8)
    yield both("_masked_scale", masked_scale, {"self": (ROWS, WIDTH)}, mask=(mask, 1 - mask), scale=(2.0, 3.0))
    sizes = {"grad": (ROWS, 5), "x1": (ROWS, WIDTH), "x2": (5, WIDTH)}
    distances = {"cdist": (reals(ROWS, 5, seed=8, positive=True), reals(ROWS, 5, seed=9, positive=True))}
    for out in ("", ".out"):
        for p in (1.5, 2.0, 3.0):
            case = both(f"_cdist_backward{out}", cdist_backward, sizes, p=(p, 2.5), **distances)
            if out:
                case.operands["out"], case.written = torch.zeros(ROWS, WIDTH, dtype=torch.float64), ("out",)
            yield case


def ignoring(case: Case, **ignored: tuple[Any, str]) -> Case:
    case.ignored = ignored
    for name in ignored:
        case.others.pop(name, None)
    return case


def cases() -> Iterator[Case]:
    for part in (cells, rms_norms, batch_norms, softmaxes, others, operand_bags.cases):
        yield from part()
