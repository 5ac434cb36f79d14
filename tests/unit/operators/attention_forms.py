"""How fused attention's results lie in memory, and what rows that see no key get, on the software device.

Run by test_fused_attention.py with the stand-in of the device preloaded. Prints a line for each difference, and
"done": from the sizes, strides and types that PyTorch predicts for CUDA (its meta kernels), from what CUDA's kernels
give for rows without keys, and of a backward call that has another dropout than its forward call.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from jitc.client_shim import torch_device

torch_device.install(redirect=True, matrix_products=True)
aten: Any = torch.ops.aten
BATCH, HEADS, QUERIES, WIDTH = 2, 4, 40, 16
#: Orders of (batch, heads, rows, width) in memory.
ORDERS = ((0, 1, 2, 3), (0, 2, 1, 3), (2, 0, 1, 3))

#: Which results of flash attention are its random state.
STATE = {"flash": (6, 7)}


def laid_out(order: Sequence[int], sizes: Sequence[int], seed: int) -> torch.Tensor:
    made = torch.randn([sizes[one] for one in order], generator=torch.Generator().manual_seed(seed)).to(
        "cuda", torch.bfloat16
    )
    return made.permute([order.index(one) for one in range(4)])


def operands(order: Sequence[int], groups: int, keys: int) -> list[torch.Tensor]:
    sizes = [(BATCH, HEADS, QUERIES, WIDTH), (BATCH, groups, keys, WIDTH), (BATCH, groups, keys, WIDTH)]
    return [laid_out(order, size, seed) for seed, size in enumerate(sizes)]


def calls(order: Sequence[int]) -> Iterator[tuple[str, Any, list[Any]]]:
    """Forward and backward of each kernel, with the operands of a program that asks for it."""
    q, k, v = operands(order, 2, 24)
    out, sums, _, _, most_q, most_k, state, unused, _ = made = aten._scaled_dot_product_flash_attention(q, k, v)
    yield "flash", aten._scaled_dot_product_flash_attention, [q, k, v]
    grad = laid_out((0, 1, 2, 3), out.shape, 5)
    rest = [out, sums, None, None, most_q, most_k, 0.0, False, state, unused]
    yield "flash_backward", aten._scaled_dot_product_flash_attention_backward, [grad, q, k, v, *rest]
    q, k, v = operands(order, HEADS, 24)
    bias = torch.randn(BATCH, HEADS, QUERIES, 24, device="cuda").to(torch.bfloat16)
    for wants in (True, False):
        yield f"efficient {wants}", aten._scaled_dot_product_efficient_attention, [q, k, v, bias, wants]
    out, sums, *state = aten._scaled_dot_product_efficient_attention(q, k, v, bias[..., :24], True)
    for keys in (24, 16):
        rest = [bias[..., :keys].contiguous(), out, sums, *state, 0.0, [True] * 4]
        few = [k[:, :, :keys], v[:, :, :keys]]
        yield (
            f"efficient_backward {keys}",
            aten._scaled_dot_product_efficient_attention_backward,
            [grad, q, *few, *rest],
        )
    made = aten._scaled_dot_product_cudnn_attention(q, k, v, None, True)
    yield "cudnn", aten._scaled_dot_product_cudnn_attention, [q, k, v, None, True]
    rest = [made[0], made[1], made[6], made[7], None, None, None, QUERIES, 24, 0.0, False]
    yield "cudnn_backward", aten._scaled_dot_product_cudnn_attention_backward, [grad, q, k, v, *rest]


def form(one: Any) -> Any:
    """The strides of what has elements."""
    return (one.dtype, tuple(one.shape), one.stride() if one.numel() else ()) if isinstance(one, torch.Tensor) else one


def compare_forms() -> None:
    mode = FakeTensorMode()
    for order in ORDERS:
        for name, operator, given in calls(order):
            fakes = [mode.from_tensor(one) if isinstance(one, torch.Tensor) else one for one in given]
            with mode:
                predicted = [form(one) for one in operator(*fakes)]
            made = [form(one) for one in operator(*given)]
            for one in STATE.get(name, ()):  # releases differ in it
                made[one] = predicted[one]
            if made != predicted:
                print(f"{name} {order}: {made} instead of {predicted}")


def check(what: str, right: bool) -> None:
    if not right:
        print(what)


def rows_without_keys() -> None:
    """The last query sees all keys (flash), or the first one sees the first key (the others); a bias hides all keys."""
    q, k, v = (torch.randn(1, 1, rows, 8, device="cuda") for rows in (5, 3, 3))
    made = aten._scaled_dot_product_flash_attention(q, k, v, 0.0, True)
    out, sums = made[0], made[1]
    check(
        "flash: rows without keys are zeros", bool((out[0, 0, :2] == 0).all()) and not bool((out[0, 0, 2:] == 0).any())
    )
    check("flash: their log-sum-exp is infinite", sums[0, 0].isinf().tolist() == [True, True, False, False, False])
    check("flash: the first key's value", torch.allclose(out[0, 0, 2], v[0, 0, 0]))
    grads = aten._scaled_dot_product_flash_attention_backward(
        torch.ones_like(out), q, k, v, out, sums, None, None, 5, 3, 0.0, True, made[6], made[7]
    )
    check("flash: gradients are finite", all(bool(one.isfinite().all()) for one in grads))
    check("flash: none for rows without keys", bool((grads[0][0, 0, :2] == 0).all()))
    bias = torch.zeros(1, 1, 5, 3, device="cuda")
    bias[0, 0, 1] = -math.inf
    for kernel, unseen in (("efficient", 0.0), ("cudnn", -math.inf)):
        made = getattr(aten, f"_scaled_dot_product_{kernel}_attention")(q, k, v, bias, True, 0.0, True)
        out, sums = made[0], made[1]
        check(f"{kernel}: the first query sees the first key", torch.allclose(out[0, 0, 0], v[0, 0, 0]))
        check(f"{kernel}: a hidden row is zeros", bool((out[0, 0, 1] == 0).all()) and bool(out.isfinite().all()))
        check(f"{kernel}: its log-sum-exp", sums[0, 0].flatten()[1].item() == unseen)
        grad = torch.ones_like(out)
        if kernel == "efficient":
            check("efficient: rows to fill up", sums.shape[2] == 32 and bool((sums[0, 0, 5:] == math.inf).all()))
            grads = aten._scaled_dot_product_efficient_attention_backward(
                grad, q, k, v, bias, out, sums, made[2], made[3], 0.0, [True] * 4, True
            )
        else:
            grads = aten._scaled_dot_product_cudnn_attention_backward(
                grad, q, k, v, out, sums, made[6], made[7], bias, None, None, 5, 3, 0.0, True
            )
        check(f"{kernel}: gradients", all(bool(one.isfinite().all()) for one in grads) and not grads[0][0, 0, 1].any())


def same_dropout_in_both() -> None:
    """The output is linear in the values, so the gradient of its sum is what each value counts in it."""
    q, k, v = (torch.randn(2, 2, 6, 8, device="cuda", dtype=torch.float64, requires_grad=True) for _ in range(3))
    for kernel, more in (("flash", [0.5]), ("efficient", [None, True, 0.5]), ("cudnn", [None, True, 0.5])):
        out = getattr(aten, f"_scaled_dot_product_{kernel}_attention")(q, k, v, *more)[0]
        counts = torch.ones_like(out)
        (to_value,) = torch.autograd.grad(out, v, counts)
        counted = to_value * v  # held against their sizes: the sum itself may be as good as zero
        check(
            f"{kernel}: another dropout backward",
            (counted.sum() - out.sum()).abs().item() < 1e-6 * counted.abs().sum().item(),
        )
        again = getattr(aten, f"_scaled_dot_product_{kernel}_attention")(q, k, v, *more)[0]
        check(f"{kernel}: each call drops others", not torch.equal(out, again))


def asked_for() -> None:
    """sdpa_kernel() has scaled_dot_product_attention take the kernel that is asked for."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    q, k, v = (torch.randn(1, 2, 64, 16, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
    for backend, name in (
        (SDPBackend.FLASH_ATTENTION, "Flash"), (SDPBackend.EFFICIENT_ATTENTION, "Efficient"), (SDPBackend.MATH, "")
    ):  # fmt: skip
        with sdpa_kernel(backend):
            made = scaled_dot_product_attention(q, k, v).grad_fn
        check(f"{backend}: {made}", f"ScaledDotProduct{name}Attention" in str(made) if name else "Fl" not in str(made))
    plain = scaled_dot_product_attention(q, k, v).grad_fn
    check(f"by itself: {plain}", "ScaledDotProduct" not in str(plain))


def numbers_without_sign() -> None:
    """What the random state is made of, in PyTorch's deterministic mode, in which new memory is filled."""
    torch.use_deterministic_algorithms(True)
    filled = torch.empty(2, dtype=torch.uint64, device="cuda")
    check("uint64", filled.cpu().tolist() == [2**64 - 1] * 2)
    q = torch.zeros(1, 1, 4, 8, device="cuda")
    state = aten._scaled_dot_product_flash_attention(q, q, q, 0.5)[6]
    check("random state of flash", (state.dtype, state.shape) == (torch.uint64, (2,)) and state.clone().tolist()[0] > 0)


if __name__ == "__main__":
    for part in (compare_forms, rows_without_keys, same_dropout_in_both, asked_for, numbers_without_sign):
        part()
    print("done")
