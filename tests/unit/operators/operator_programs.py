"""What record_operator_samples.py runs besides PyTorch's own samples: operators of training that these leave out.

Runs with the stand-in of the device preloaded (native/loop.cpp), which writes the operators down. Prints what failed.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from jitc.client_shim import torch_device

torch_device.install(redirect=True, matrix_products=True)
GPU = "cuda"
Program = Callable[[], Any]


def floats(*sizes: int, **options: Any) -> torch.Tensor:
    return torch.randn(*sizes, device=GPU, requires_grad=True, **options)


def back(result: Any) -> None:
    first = result[0] if isinstance(result, tuple) else result
    first.float().sum().backward()


def recurrent() -> Iterator[Program]:
    for kind, bias in itertools.product((nn.LSTM, nn.GRU, nn.RNN, nn.LSTMCell, nn.GRUCell), (True, False)):
        yield lambda kind=kind, bias=bias: back(kind(3, 4, bias=bias).to(GPU)(floats(2, 3)))


def normalizations() -> Iterator[Program]:
    x = floats(2, 3, 4)
    yield lambda: back(nn.RMSNorm(4).to(GPU)(x))
    yield lambda: back(nn.RMSNorm((3, 4), elementwise_affine=False).to(GPU)(x))
    yield lambda: back(nn.BatchNorm1d(3).to(GPU)(x))
    yield lambda: nn.BatchNorm1d(3).to(GPU).eval()(x)
    yield lambda: back(nn.BatchNorm1d(3, track_running_stats=False).to(GPU)(x))
    yield lambda: back(nn.GroupNorm(1, 3).to(GPU)(x))
    yield lambda: back(nn.utils.weight_norm(nn.Linear(4, 3).to(GPU))(x))
    yield forced_attention
    yield lambda: synchronized_batch_norm(torch.randn(2, 3, 4, device=GPU))


def forced_attention() -> None:
    shape = {"device": GPU, "requires_grad": True}
    q, k, v = torch.randn(2, 4, 3, 8, **shape), torch.randn(2, 2, 5, 8, **shape), torch.randn(2, 2, 5, 8, **shape)
    bias = torch.randn(2, 4, 3, 5, **shape)
    back(torch.ops.aten._scaled_dot_product_flash_attention(q, k, v, 0.25)[0])
    back(torch.ops.aten._scaled_dot_product_efficient_attention(q, k, v, bias, True, 0.25)[0])
    back(torch.ops.aten._scaled_dot_product_cudnn_attention(q, k, v, bias.detach(), True, 0.25)[0])


def synchronized_batch_norm(x: torch.Tensor) -> None:
    weight = torch.ones(3, device=GPU)
    mean, invstd = torch.batch_norm_stats(x, 1e-5)
    counts = torch.full((2,), 4.0, device=GPU)
    everybody = torch.stack((mean, mean)), torch.stack((invstd, invstd))
    torch.batch_norm_gather_stats(x, *everybody, weight.clone(), weight.clone(), 0.1, 1e-5, 3)
    torch.batch_norm_gather_stats_with_counts(x, *everybody, weight.clone(), weight.clone(), 0.1, 1e-5, counts)
    y = torch.batch_norm_elemt(x, weight, weight, mean, invstd, 1e-5)
    sums = torch.batch_norm_backward_reduce(y, x, mean, invstd, weight, True, True, True)
    whole = torch.full((2,), 4, device=GPU, dtype=torch.int32)
    torch.batch_norm_backward_elemt(y, x, mean, invstd, weight, sums[0], sums[1], whole)
    torch._masked_scale(x, (x > 0).to(torch.uint8), 2.0)


def optimizers() -> Iterator[Program]:
    for kind, amsgrad in itertools.product((torch.optim.Adam, torch.optim.AdamW), (False, True)):
        yield lambda kind=kind, amsgrad=amsgrad: optimize(kind, {"fused": True, "amsgrad": amsgrad})
    for momentum in (0.0, 0.9):
        yield lambda momentum=momentum: optimize(torch.optim.SGD, {"fused": True, "momentum": momentum})
    yield lambda: optimize(torch.optim.RMSprop, {"foreach": True})
    yield lambda: fused_adagrad(torch.randn(3, 2, device=GPU), torch.ones((), device=GPU))
    yield scaled


def fused_adagrad(x: torch.Tensor, steps: torch.Tensor) -> None:
    settings = {"lr_decay": 0.0, "weight_decay": 0.1, "eps": 1e-8, "maximize": False}
    torch.ops.aten._fused_adagrad_([x], [x.clone()], [x.abs()], [steps], lr=0.1, **settings)


def optimize(kind: Any, options: dict[str, Any]) -> None:
    model = nn.Linear(3, 2).to(GPU)
    optimizer = kind(model.parameters(), lr=0.01, **options)
    for _ in range(2):
        back(model(floats(4, 3)))
        optimizer.step()


def scaled() -> None:
    model, scaler = nn.Linear(3, 2).to(GPU), torch.amp.GradScaler(GPU)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    scaler.scale(model(floats(4, 3)).sum()).backward()
    scaler.step(optimizer)
    scaler.update()


def embeddings() -> Iterator[Program]:
    indices, offsets = torch.tensor([1, 2, 4, 5, 4, 3], device=GPU), torch.tensor([0, 4], device=GPU)
    for mode, last, often in itertools.product(("sum", "mean", "max"), (False, True), (False, True)):
        made = nn.EmbeddingBag(7, 3, mode=mode, include_last_offset=last, scale_grad_by_freq=often and mode != "max")
        module = made.to(GPU)
        yield lambda module=module: back(module(indices, offsets))
    weights = floats(6)
    yield lambda: back(nn.EmbeddingBag(7, 3, mode="sum").to(GPU)(indices, offsets, per_sample_weights=weights))
    yield lambda: back(nn.Embedding(7, 3, padding_idx=1, scale_grad_by_freq=True, max_norm=1.0).to(GPU)(indices))


def losses() -> Iterator[Program]:
    targets, lengths = torch.tensor([[1, 2], [3, 1]], device=GPU), torch.tensor([2, 1], device=GPU)
    steps = torch.tensor([5, 4], device=GPU)
    log_probs = floats(5, 2, 4)
    yield lambda: back(nn.functional.ctc_loss(log_probs.log_softmax(2), targets, steps, lengths))
    yield lambda: back(nn.functional.ctc_loss(log_probs.log_softmax(2), targets, (5, 4), (2, 1), zero_infinity=True))
    joined = torch.tensor([1, 2, 3], device=GPU)
    yield lambda: back(nn.functional.ctc_loss(log_probs.log_softmax(2), joined, steps, lengths))
    yield lambda: back(nn.functional.multi_margin_loss(floats(2, 4), joined[:2], weight=torch.ones(4, device=GPU)))
    yield lambda: back(
        nn.functional.multilabel_margin_loss(floats(2, 4), torch.tensor([[3, -1, 0, 1]] * 2, device=GPU))
    )


def convolutions() -> Iterator[Program]:
    for kind, space in (
        (nn.Conv1d, 1),
        (nn.Conv2d, 2),
        (nn.Conv3d, 3),
        (nn.ConvTranspose1d, 1),
        (nn.ConvTranspose2d, 2),
    ):
        sizes = (2, 4, *(5,) * space)
        yield lambda kind=kind, sizes=sizes: back(
            kind(4, 4, 3, padding=1, groups=2, dilation=1).to(GPU)(floats(*sizes))
        )
    kernel, one, x = (3, 3), (1, 1), torch.randn(2, 4, 5, 5, device=GPU)
    weight, bias = torch.randn(4, 4, 3, 3, device=GPU), torch.randn(4, device=GPU)
    aten = torch.ops.aten
    yield lambda: aten._slow_conv2d_forward(x, weight, kernel, bias, one, one)
    yield lambda: aten._slow_conv2d_backward(x, x, weight, kernel, one, one, (True, True, True))
    yield lambda: aten.slow_conv_transpose2d(x, weight, kernel, bias, one, one)
    yield lambda: aten.slow_conv_dilated2d(x, weight, kernel, bias, one, one)
    deep, cube = torch.randn(2, 4, 5, 5, 5, device=GPU), torch.randn(4, 4, 3, 3, 3, device=GPU)
    yield lambda: aten.slow_conv_transpose3d(deep, cube, (3, 3, 3), bias, (1, 1, 1), (1, 1, 1))
    yield lambda: aten.slow_conv_dilated3d(deep, cube, (3, 3, 3), bias, (1, 1, 1), (1, 1, 1))


def transformers() -> Iterator[Program]:
    made = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).to(GPU).eval()
    x = torch.randn(2, 3, 8, device=GPU)
    yield lambda: with_no_gradients(made, x)
    attention = nn.MultiheadAttention(8, 2, batch_first=True).to(GPU).eval()
    yield lambda: with_no_gradients(attention, x, x, x)
    yield lambda: torch.ops.aten._transform_bias_rescale_qkv(
        torch.randn(2, 3, 24, device=GPU), torch.ones(24, device=GPU), 2
    )


def with_no_gradients(module: nn.Module, *given: torch.Tensor) -> None:
    with torch.no_grad():
        module(*given)


def others() -> Iterator[Program]:
    x, aten = torch.rand(3, 4, device=GPU), torch.ops.aten
    whole = torch.tensor([0, 1, 3], device=GPU)
    yield lambda: torch.multinomial(x, 2)
    yield lambda: torch.multinomial(x[0], 6, replacement=True)
    yield lambda: torch.poisson(x)
    yield lambda: torch.bincount(whole, minlength=5)
    yield lambda: torch._convert_indices_from_coo_to_csr(whole, 5)
    yield lambda: torch._convert_indices_from_csr_to_coo(whole, whole)
    yield lambda: torch.fake_quantize_per_channel_affine(x, x[:, 0].contiguous(), whole.int(), 0, 0, 255)
    yield lambda: torch.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 255)
    yield lambda: torch._amp_update_scale_(x[0, 0], whole[0].int(), x[0, 1], 2.0, 0.5, 10)
    yield lambda: aten._cholesky_solve_helper(x[:, :3].contiguous(), torch.eye(3, device=GPU), False)
    yield lambda: aten._compute_linear_combination(x, torch.rand(2, 3, device=GPU))
    yield lambda: aten._chunk_cat([x, x], 0, 2)
    yield lambda: aten._cummax_helper(x, torch.empty_like(x), torch.empty_like(x, dtype=torch.int64), 1)
    yield lambda: aten._cummin_helper(x, torch.empty_like(x), torch.empty_like(x, dtype=torch.int64), 1)
    yield lambda: torch.segment_reduce(x, "sum", lengths=torch.tensor([1, 2], device=GPU), axis=0)
    yield lambda: torch._int_mm(
        torch.ones(32, 32, device=GPU, dtype=torch.int8), torch.ones(32, 32, device=GPU, dtype=torch.int8)
    )
    yield lambda: aten._masked_softmax(x, x > 0.5, 1, 2)


def main() -> None:
    parts = recurrent, normalizations, optimizers, embeddings, losses, convolutions, transformers, others
    for part in parts:
        for number, program in enumerate(part()):
            try:
                program()
            except Exception as error:
                print(f"{part.__name__} {number}: {str(error).splitlines()[0]}", file=sys.stderr)


if __name__ == "__main__":
    main()
