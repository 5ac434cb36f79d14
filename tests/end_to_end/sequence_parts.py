"""A rank of a job whose ranks share a sequence, run by test_sequence_parallel.py: `sequence_parts.py compare|train`, or
`sequence_parts.py passes RANK RANKS FOLDER KERNEL`.

compare: attention in parts, in each way that programs do it, beside the same on one rank in float64; a line for each
way with the largest relative error of the output and of the three gradients. train: a few steps of a small model on
PyTorch's context parallel, with dropout; a line per step with the hash of loss and weights. passes: a pass and an
optimizer step in the way that a line of standard input names, as often as there are lines; the answer is a hash of
output, gradients and what the optimizer keeps.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor.experimental import _attention as cp
from torch.distributed.tensor.experimental import context_parallel
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

Tensors = tuple[torch.Tensor, ...]
aten: Any = torch.ops.aten
BATCH, HEADS, ROWS, WIDTH, STEPS = 1, 4, 64, 16, 6  # ROWS: of each rank
learned: list[torch.Tensor] = []  # in passes: what query, key and value have become


def sequence(dtype: torch.dtype) -> Tensors:
    """Query, key, value and the gradient of the output, all of it, equal on all ranks."""
    torch.manual_seed(0)
    sizes = BATCH, HEADS, ROWS * dist.get_world_size(), WIDTH
    drawn = [torch.randn(sizes, dtype=torch.float64).to("cuda", dtype) for _ in range(4)]
    return *(one.detach().clone() for one in learned), *drawn[len(learned) :]


def mine(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.chunk(dist.get_world_size(), 2)[dist.get_rank()].contiguous()


def whole(tensor: torch.Tensor) -> torch.Tensor:
    """From each rank's rows."""
    parts = [torch.empty_like(tensor, memory_format=torch.contiguous_format) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, tensor.contiguous())
    return torch.cat(parts, 2)


def on_one_rank(dtype: torch.dtype, causal: bool) -> Tensors:
    q, k, v, grad = (one.double().cpu() for one in sequence(dtype))
    inputs = [one.requires_grad_() for one in (q, k, v)]
    scores = q @ k.transpose(-2, -1) / WIDTH**0.5
    if causal:
        scores = scores.masked_fill(~torch.ones(scores.shape[-2:], dtype=torch.bool).tril(), float("-inf"))
    out = scores.softmax(-1) @ v
    return (out.detach(), *torch.autograd.grad(out, inputs, grad))


def error(got: Tensors, causal: bool) -> float:
    wanted = on_one_rank(got[0].dtype, causal)
    return max(((a.double().cpu() - b).norm() / b.norm()).item() for a, b in zip(got, wanted, strict=True))


def chosen() -> list[bool]:
    """Which kernels scaled_dot_product_attention may take outside of context parallel."""
    names = "flash", "mem_efficient", "math", "cudnn"
    return [getattr(torch.backends.cuda, f"{name}_sdp_enabled")() for name in names]


def context(mesh: DeviceMesh, backend: SDPBackend | None, dtype: torch.dtype, causal: bool) -> Tensors:
    """PyTorch's own. Without a backend, the one that it takes by itself."""
    *inputs, grad = sequence(dtype)
    before = chosen()
    with sdpa_kernel(backend) if backend else contextlib.nullcontext(), context_parallel(
        mesh, buffers=[*inputs, grad], buffer_seq_dims=[2] * 4, no_restore_buffers={*inputs, grad}
    ):  # fmt: skip
        for one in inputs:
            one.requires_grad_()
        out = F.scaled_dot_product_attention(*inputs, is_causal=causal)
        parts = [out, *torch.autograd.grad(out, inputs, grad)]
    assert chosen() == before, "other kernels of attention are chosen afterwards"
    return tuple(cp.context_parallel_unshard(mesh, [one.detach() for one in parts], [2] * 4))


@contextlib.contextmanager
def options(method: str, balance: bool) -> Iterator[None]:
    """How key and value get round, and whether each rank gets early and late rows."""
    before, cp._cp_options.enable_load_balance = cp._cp_options.enable_load_balance, balance
    cp.set_rotate_method(method)
    yield
    cp._cp_options.enable_load_balance = before


def attend(kernel: str, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Any:
    """By name; the output, the log-sum-exp of its rows, and all that the call gives."""
    more = [] if kernel == "flash" else [None, True]
    made = getattr(aten, f"_scaled_dot_product_{kernel}_attention")(q, k, v, *more)
    return made[0], made[1].reshape(*q.shape[:2], -1)[..., : q.shape[2]], made


def gradients(kernel: str, grad: torch.Tensor, inputs: Tensors, whole_of: Tensors, made: Any) -> Tensors:
    """Of one part, with output and log-sum-exp of all of them."""
    out, sums = whole_of
    sums, rows = sums.float().contiguous(), (inputs[0].shape[2], inputs[1].shape[2])
    if kernel == "flash":
        flash = aten._scaled_dot_product_flash_attention_backward
        found = flash(grad, *inputs, out, sums, None, None, *rows, 0.0, False, made[6], made[7])
    elif kernel == "efficient":
        efficient = aten._scaled_dot_product_efficient_attention_backward
        found = efficient(grad, *inputs, None, out, sums, made[2], made[3], 0.0, [True, True, True, False])
    else:
        cudnn = aten._scaled_dot_product_cudnn_attention_backward
        found = cudnn(grad, *inputs, out, sums[..., None], made[6], made[7], None, None, None, *rows, 0.0, False)
    return tuple(found[:3])


def merged(outs: list[torch.Tensor], sums: list[torch.Tensor]) -> Tensors:
    """Parts by their log-sum-exp."""
    total = torch.logsumexp(torch.stack(sums).double(), 0)
    shares = [(one.double() - total).exp()[..., None] for one in sums]
    out = sum((share * out.double() for share, out in zip(shares, outs, strict=True)), torch.zeros((), device="cuda"))
    return out.to(outs[0].dtype), total


def passed_on(*tensors: torch.Tensor) -> Tensors:
    """From the rank before, while this rank's go to the next one."""
    ranks, rank = dist.get_world_size(), dist.get_rank()
    got = tuple(torch.empty_like(one) for one in tensors)
    calls = [dist.P2POp(dist.isend, one.contiguous(), (rank + 1) % ranks) for one in tensors]
    calls += [dist.P2POp(dist.irecv, one, (rank - 1) % ranks) for one in got]
    for call in dist.batch_isend_irecv(calls):
        call.wait()
    return got


def ring(kernel: str, dtype: torch.dtype) -> Tensors:
    """Keys and values go round, and their gradients with them."""
    q, k, v, grad = map(mine, sequence(dtype))
    parts = []
    for _ in range(dist.get_world_size()):
        parts.append((k, v, *attend(kernel, q, k, v)))
        k, v = passed_on(k, v)
    out, sums = merged([one[2] for one in parts], [one[3] for one in parts])
    to_q, to_k, to_v = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    for k, v, _, _, made in parts:
        found = gradients(kernel, grad, (q, k, v), (out, sums), made)
        to_q = to_q + found[0]
        to_k, to_v = passed_on(to_k + found[1], to_v + found[2])
    return tuple(map(whole, (out, to_q, to_k, to_v)))


def tree(kernel: str, dtype: torch.dtype) -> Tensors:
    """Each rank has all queries and its own keys; sums go through all-reduce."""
    q, k, v, grad = sequence(dtype)
    k, v = mine(k), mine(v)
    out, sums, made = attend(kernel, q, k, v)
    most = sums.clone()
    dist.all_reduce(most, dist.ReduceOp.MAX)
    share = (sums - most).double().exp()
    total, out = share.clone(), share[..., None] * out.double()
    dist.all_reduce(total)
    dist.all_reduce(out)
    out = (out / total[..., None]).to(dtype)
    to_q, to_k, to_v = gradients(kernel, grad, (q, k, v), (out, most + total.log()), made)
    to_q = to_q.contiguous()
    dist.all_reduce(to_q)
    return out, to_q, whole(to_k), whole(to_v)


def pages(kernel: str, dtype: torch.dtype) -> Tensors:
    """Keys in pages of several lengths, each rank every so many of them; merged by all ranks."""
    q, k, v, grad = sequence(dtype)
    lengths = [24, 8] * (k.shape[2] // 32)
    ranks, rank = dist.get_world_size(), dist.get_rank()
    every = list(zip(k.split(lengths, 2), v.split(lengths, 2), strict=True))
    own = [(k, v, *attend(kernel, q, k, v)) for k, v in every[rank::ranks]]
    out, sums = merged([one[2] for one in own], [one[3] for one in own])
    outs, all_sums = ([torch.empty_like(one) for _ in range(ranks)] for one in (out, sums))
    dist.all_gather(outs, out)
    dist.all_gather(all_sums, sums)
    out, sums = merged(outs, all_sums)
    made = {
        rank + ranks * i: gradients(kernel, grad, (q, k, v), (out, sums), one)
        for i, (k, v, _, _, one) in enumerate(own)
    }
    to_q = torch.stack([found[0] for found in made.values()]).sum(0)
    to_kv = torch.zeros(2, *k.shape, dtype=dtype, device="cuda")
    for page, (_, to_k, to_v) in made.items():
        start = sum(lengths[:page])
        to_kv[:, :, :, start : start + lengths[page]] = torch.stack([to_k, to_v])
    for one in (to_q, to_kv):
        dist.all_reduce(one)
    return out, to_q, to_kv[0], to_kv[1]


class Exchange(torch.autograd.Function):
    """All rows of some heads for some rows of all heads, or the other way round."""

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, apart: int, together: int) -> torch.Tensor:
        ctx.turned = together, apart
        parts = [one.contiguous() for one in tensor.chunk(dist.get_world_size(), apart)]
        got = [torch.empty_like(one) for one in parts]
        dist.all_to_all(got, parts)
        return torch.cat(got, together)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        return Exchange.apply(grads[0], *ctx.turned), None, None


def ulysses(backend: SDPBackend, dtype: torch.dtype) -> Tensors:
    q, k, v, grad = map(mine, sequence(dtype))
    inputs = [one.requires_grad_() for one in (q, k, v)]
    with sdpa_kernel(backend):
        heads = F.scaled_dot_product_attention(*(Exchange.apply(one, 1, 2) for one in inputs), is_causal=True)
    out = Exchange.apply(heads, 2, 1)
    return tuple(map(whole, (out.detach(), *torch.autograd.grad(out, inputs, grad))))


KERNELS = {"flash": torch.bfloat16, "efficient": torch.float32, "cudnn": torch.bfloat16}
WAYS: tuple[Callable[[str, torch.dtype], Tensors], ...] = ring, tree, pages


def compare(mesh: DeviceMesh) -> Iterator[tuple[str, float]]:
    for name, dtype in KERNELS.items():
        backend = getattr(SDPBackend, f"{name.upper()}_ATTENTION")
        for method, balance, causal in (("allgather", True, True), ("alltoall", False, False)):
            with options(method, balance):
                found = context(mesh, backend, dtype, causal)
            yield f"context {method} {name} {dtype}", error(found, causal)
        if name != "cudnn":
            yield f"context default {name} {dtype}", error(context(mesh, None, dtype, True), True)
        yield f"ulysses {name} {dtype}", error(ulysses(backend, dtype), True)
    yield f"ulysses math {torch.float64}", error(ulysses(SDPBackend.MATH, torch.float64), True)
    for way in WAYS:
        for name, dtype in (*KERNELS.items(), ("flash", torch.float64), ("efficient", torch.float64)):
            yield f"{way.__name__} {name} {dtype}", error(way(name, dtype), False)


def ways_of(mesh: DeviceMesh, kernel: str) -> dict[str, Callable[[], Tensors]]:
    """Forward and backward in each way; all ranks get the whole of it."""
    dtype, backend = KERNELS[kernel], getattr(SDPBackend, f"{kernel.upper()}_ATTENTION")

    def turned(method: str) -> Tensors:
        with options(method, False):
            return context(mesh, backend, dtype, False)

    found: dict[str, Callable[[], Tensors]] = {
        f"context {one}": functools.partial(turned, one) for one in ("allgather", "alltoall")
    }
    found["ulysses"] = functools.partial(ulysses, backend, dtype)
    return found | {one.__name__: functools.partial(one, kernel, dtype) for one in WAYS}


def passes(mesh: DeviceMesh, kernel: str) -> None:
    learned.extend(one.requires_grad_() for one in sequence(KERNELS[kernel])[:3])
    optimizer = torch.optim.AdamW(learned, 1e-2)
    ways = ways_of(mesh, kernel)
    for line in sys.stdin:
        out, *grads = ways[line.strip()]()
        for one, grad in zip(learned, grads, strict=True):
            one.grad = grad.clone()
        optimizer.step()
        kept = [value for one in optimizer.state.values() for value in one.values()]
        say(digest(out, *grads, *learned, *kept))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.all, self.last = nn.LayerNorm(32), nn.Linear(32, 96), nn.Linear(32, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (one.unflatten(-1, (2, WIDTH)).transpose(1, 2) for one in self.all(self.norm(x)).chunk(3, -1))
        attended = F.scaled_dot_product_attention(q, k, v, dropout_p=0.1, is_causal=True)
        return x + F.dropout(self.last(attended.transpose(1, 2).flatten(2)), 0.1)


def say(line: str) -> None:
    """In one piece: the ranks write to the same place."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def digest(*tensors: torch.Tensor) -> str:
    content = (one.detach().cpu().contiguous().view(torch.uint8 if one.dim() else one.dtype) for one in tensors)
    return hashlib.sha256(b"".join(one.numpy().tobytes() for one in content)).hexdigest()


def train(mesh: DeviceMesh) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(11, 32), Block(), Block(), nn.Linear(32, 11)).cuda()
    parallel = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    torch.manual_seed(1 + dist.get_rank())
    for step in range(STEPS):
        words = torch.arange(2 * ROWS * dist.get_world_size(), device="cuda").reshape(2, -1).mul(step + 3).remainder(11)
        with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION), context_parallel(mesh, buffers=[words], buffer_seq_dims=[1]):
            loss = F.cross_entropy(parallel(words).flatten(0, 1), words.flatten())
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        say(f"step {step} of rank {dist.get_rank()}: {digest(loss, *model.parameters())}")


def main(what: str, *given: str) -> None:
    if what == "passes":
        rank, ranks, folder = int(given[0]), int(given[1]), Path(given[2])
        dist.init_process_group("nccl", init_method=f"file://{folder}/meeting", rank=rank, world_size=ranks)
    else:
        dist.init_process_group("nccl")
        rank, ranks = dist.get_rank(), dist.get_world_size()
    torch.cuda.set_device(rank)
    mesh = init_device_mesh("cuda", (ranks,))
    if what == "passes":
        passes(mesh, given[3])
    elif what == "train":
        train(mesh)
    else:
        for name, far in compare(mesh):
            if rank == 0:
                say(f"{name}: {far}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
