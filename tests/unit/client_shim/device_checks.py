"""Runs inside a process with the stand-in runtime: every check_* function is one test of test_device.py.

Prints one JSON line per check: {"name": ..., "wrong": null or text}.
"""

from __future__ import annotations

import copy
import ctypes
import itertools
import json
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import torch

from jitc.client_shim import torch_device

LOOP = ctypes.CDLL(None)
CALLS, QUERIES, BEGINS, ENDS, LIVE_BLOCKS, LIVE_BYTES, BACKWARD = range(7)


def count(what: int) -> int:
    return int(LOOP.loop_count(what))


def same(one: torch.Tensor, other: torch.Tensor) -> None:
    torch.testing.assert_close(one.cpu(), other, rtol=0, atol=0)


def raised(kind: type[BaseException], action: Callable[[], Any]) -> str:
    try:
        action()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__}")


def check_second_call_of_a_signature_asks_nothing() -> None:
    x = torch.randn(7, 3, device="cuda")
    _ = x * 1.5
    before = count(QUERIES), count(CALLS)
    for factor in (2.0, 3.5, -1.0):  # numbers are not part of a signature
        _ = x * factor
    assert (count(QUERIES), count(CALLS)) == (before[0], before[1] + 3)


def check_other_shape_type_or_number_kind_is_another_signature() -> None:
    x = torch.arange(6, device="cuda").reshape(2, 3)
    assert (x * 2).dtype == torch.int64
    assert (x * 2.0).dtype == torch.float32
    assert (x.t() * 2).stride() == (1, 3)
    assert (x[:1] * 2).shape == (1, 3)


def check_results_that_depend_on_data() -> None:
    x = torch.tensor([0, 3, 0, 5], device="cuda")
    same(x.nonzero(), torch.tensor([[1], [3]]))
    same(x[x > 0], torch.tensor([3, 5]))
    x[0] = 9
    same(x[x > 0], torch.tensor([9, 3, 5]))
    same(torch.unique(x), torch.tensor([0, 3, 5, 9]))
    assert torch.equal(x, x.clone())
    assert not torch.equal(x, x + 1)


def check_in_place_once_also_the_first_time() -> None:
    x = torch.tensor([1.0, 2.0], device="cuda")
    x.mul_(3)
    same(x, torch.tensor([3.0, 6.0]))
    flags = torch.tensor([True, False], device="cuda").logical_not_()  # reads and writes the same tensor
    same(flags, torch.tensor([False, True]))
    x.narrow(0, 1, 1).mul_(2)
    same(x, torch.tensor([3.0, 12.0]))


def check_softmax_that_widens() -> None:
    """Half in, float out, as one operator: PyTorch's CPU kernel refuses that, its CUDA kernel does not."""
    for kind, function in itertools.product((torch.float16, torch.bfloat16), (torch.softmax, torch.log_softmax)):
        x = torch.linspace(-2, 3, 12).reshape(3, 4).to(kind)
        mine, right = x.cuda().requires_grad_(), x.clone().requires_grad_()
        got, wanted = function(mine, 1, dtype=torch.float32), function(right.float(), 1)
        same(got.detach(), wanted.detach())
        weights = torch.linspace(0, 1, 12).reshape(3, 4)
        got.backward(weights.cuda())
        wanted.backward(weights)
        assert mine.grad is not None and right.grad is not None and mine.grad.dtype == kind
        same(mine.grad, right.grad)
        same(function(mine.detach(), 1), function(x, 1))


def check_running_statistics_once_also_the_first_time() -> None:
    """Their schemas do not say that they are written."""
    x = torch.arange(24.0).reshape(2, 3, 4)
    here, there = torch.nn.BatchNorm1d(3), torch.nn.BatchNorm1d(3).to("cuda")
    for _ in range(2):
        same(there(x.to("cuda")).detach(), here(x).detach())
        same(there.running_mean, here.running_mean)
        same(there.running_var, here.running_var)


def check_norms_keep_their_statistics_as_on_the_cpu() -> None:
    nn, shapes = torch.nn, {"1d": (4, 3, 5), "2d": (4, 3, 5, 2), "3d": (4, 3, 2, 5, 2)}
    kinds: dict[str, dict[str, Any]] = {
        "BatchNorm": {},
        "BatchNorm without weights": {"affine": False, "momentum": 0.3},
        "BatchNorm with the mean of all": {"momentum": None},
        "BatchNorm without statistics": {"track_running_stats": False},
        "InstanceNorm": {"affine": True, "track_running_stats": True},
    }
    for kind, options in kinds.items():
        for dimensions, shape in shapes.items():
            here = getattr(nn, kind.split()[0] + dimensions)(3, **options)
            there = copy.deepcopy(here).to("cuda")
            for training in (True, True, False, True):
                for net in (here, there):
                    net.train(training)
                x = torch.randn(shape, requires_grad=True)
                y = x.detach().to("cuda").requires_grad_()
                here(x).square().sum().backward()
                there(y).square().sum().backward()
                torch.testing.assert_close(y.grad.cpu(), x.grad)
                for (name, one), other in zip(here.state_dict().items(), there.state_dict().values(), strict=True):
                    torch.testing.assert_close(
                        other.cpu(), one, msg=lambda text, at=(kind, dimensions, name): f"{at} {text}"
                    )


def check_out_is_resized() -> None:
    out = torch.empty(0, device="cuda")
    torch.add(torch.ones(4, device="cuda"), 1, out=out)
    same(out, torch.full((4,), 2.0))
    same(torch.arange(0, 10, 3, device="cuda"), torch.arange(0, 10, 3))
    same(torch.arange(0, 5, 0.5, device="cuda"), torch.arange(0, 5, 0.5))


def check_out_gets_the_strides_that_the_cpu_gives_it() -> None:
    """Some kernels lay a given result out anew, without another size."""
    torch.manual_seed(5)
    x = torch.randn(3, 4, 4)
    for gap in (1, 2):
        here, there = (
            [torch.zeros(3, 4 * gap, 4, device=device)[:, ::gap], torch.zeros(3, 4 * gap, device=device)[:, ::gap]]
            for device in ("cpu", "cuda")
        )
        torch.geqrf(x, out=tuple(here))
        torch.geqrf(x.to("cuda"), out=tuple(there))
        for one, other in zip(here, there, strict=True):
            assert one.stride() == other.stride()
            same(other, one)


def check_mode_into_given_results() -> None:
    """Its kernel is called below the dispatcher."""
    x = torch.tensor([[1.0, 2.0, 2.0], [3.0, 3.0, 1.0]])
    out = torch.empty(0, device="cuda"), torch.empty(0, dtype=torch.int64, device="cuda")
    torch.mode(x.to("cuda"), 1, out=out)
    for one, other in zip(out, torch.mode(x, 1), strict=True):
        same(one, other)


def check_cudnn_is_off() -> None:
    assert not torch.backends.cudnn.enabled
    assert not torch.backends.cuda.cudnn_sdp_enabled()


def check_a_wrong_number_is_a_device_side_assert() -> None:
    """As on a GPU, where the host does not see what is in an operand; not so what is wrong with its form."""
    x = torch.ones(2, 3, device="cuda")
    far = torch.tensor([[5]], device="cuda")
    for action in (lambda: x[far], lambda: x.gather(0, far), lambda: torch.nn.functional.embedding(far, x)):
        assert "device-side assert triggered" in raised(RuntimeError, action)
    torch._assert_async(torch.tensor(1, device="cuda"))
    assert "device-side" in raised(RuntimeError, lambda: torch._assert_async(torch.tensor(0, device="cuda")))
    raised(IndexError, lambda: x.cumsum(7))
    assert "non-negative" in raised(RuntimeError, lambda: torch.tensor([-1], device="cuda").bincount())
    assert "singular" in raised(RuntimeError, lambda: torch.linalg.inv(torch.zeros(2, 2, device="cuda")))


def check_statistics_of_ranks_with_equal_counts() -> None:
    x, means = torch.randn(2, 3, 4, device="cuda"), torch.randn(2, 3, device="cuda")
    deviations, running = means.abs() + 1, [torch.ones(3, device="cuda") for _ in range(4)]
    one = torch.batch_norm_gather_stats(x, means, deviations, *running[:2], 0.1, 1e-5, 7)
    counts = torch.full((2,), 7.0, device="cuda")
    other = torch.batch_norm_gather_stats_with_counts(x, means, deviations, *running[2:], 0.1, 1e-5, counts)
    for mine, reference in zip((*one, *running[:2]), (*other, *running[2:]), strict=True):
        same(mine, reference.cpu())


def check_fused_attention_that_is_asked_for() -> None:
    """Flash, memory-efficient and cuDNN's attention by name, and where no other kind is allowed."""
    q, k, v = (torch.randn(2, 4, length, 8, requires_grad=True) for length in (3, 3, 3))
    attend = torch.nn.functional.scaled_dot_product_attention
    for causal in (False, True):
        wanted = attend(q, k, v, is_causal=causal)
        grads = torch.autograd.grad(wanted.square().sum(), (q, k, v))
        on = [one.detach().cuda().requires_grad_() for one in (q, k, v)]
        flash = torch.ops.aten._scaled_dot_product_flash_attention(*on, 0.0, causal)
        efficient = torch.ops.aten._scaled_dot_product_efficient_attention(*on, None, True, 0.0, causal)
        cudnn = torch.ops.aten._scaled_dot_product_cudnn_attention(*on, None, True, 0.0, causal)
        for one in (flash[0], efficient[0], cudnn[0]):
            torch.testing.assert_close(one.cpu(), wanted)
            for mine, theirs in zip(torch.autograd.grad(one.square().sum(), on), grads, strict=True):
                torch.testing.assert_close(mine.cpu(), theirs)
    half = [one.detach().cuda().to(torch.bfloat16).requires_grad_() for one in (q, k, v)]
    kinds = torch.nn.attention.SDPBackend
    for kind in (kinds.FLASH_ATTENTION, kinds.EFFICIENT_ATTENTION, kinds.CUDNN_ATTENTION):
        with torch.nn.attention.sdpa_kernel(kind):
            torch.manual_seed(3)
            forced = attend(*half, dropout_p=0.5)
            torch.manual_seed(3)
            same(attend(*half, dropout_p=0.5), forced.detach().cpu())
            forced.sum().backward()
            plain = attend(*half).float().cpu()
        torch.testing.assert_close(plain, attend(q, k, v), rtol=0.02, atol=0.02)


def check_form_of_fused_attention() -> None:
    """Results are laid out as those of the kernels, which PyTorch's own descriptions (meta kernels) tell."""
    aten = torch.ops.aten
    tails = {
        aten._scaled_dot_product_flash_attention: (),
        aten._scaled_dot_product_efficient_attention: (None, False),
        aten._scaled_dot_product_cudnn_attention: (None, True),
    }
    for call, tail in tails.items():
        for query in (
            torch.randn(2, 3, 5, 8),
            torch.randn(2, 5, 3, 8).transpose(1, 2),
            torch.randn(2, 3, 5, 9)[..., :8],
        ):
            made = call(*[query.cuda()] * 3, *tail)
            told = call(*[query.to("meta")] * 3, *tail)
            assert (made[0].shape, made[0].stride()) == (told[0].shape, told[0].stride())
            assert made[1].shape == told[1].shape


def check_bias_of_fused_attention() -> None:
    q, bias = torch.randn(2, 4, 3, 8, requires_grad=True), torch.randn(1, 4, 3, 3)
    wanted = torch.nn.functional.scaled_dot_product_attention(q, q, q, bias)
    grad = torch.autograd.grad(wanted.square().sum(), q)[0]
    on = q.detach().cuda().requires_grad_()
    for call in ("efficient", "cudnn"):
        attend = getattr(torch.ops.aten, f"_scaled_dot_product_{call}_attention")
        made = attend(on, on, on, bias.cuda(), True)[0]
        torch.testing.assert_close(made.cpu(), wanted)
        found = torch.autograd.grad(made.square().sum(), on)[0].cpu()
        torch.testing.assert_close(found, grad, rtol=1e-5, atol=1e-4)  # of numbers up to 100, added in another order


def check_sparse_tensors() -> None:
    """COO and compressed rows: what launches kernels by itself above the operators."""
    indices, values = torch.tensor([[0, 2, 0], [1, 0, 1]]), torch.tensor([1.0, 2.0, 4.0])
    cpu = torch.sparse_coo_tensor(indices, values, (3, 2))
    coo, dense = cpu.cuda(), torch.randn(2, 4)
    same(coo.coalesce().values(), cpu.coalesce().values())
    same(coo.to_dense(), cpu.to_dense())
    same(coo @ dense.cuda(), cpu @ dense)
    same((coo + coo).to_dense(), (cpu + cpu).to_dense())
    same((torch.ones(3, 2, device="cuda") + coo), torch.ones(3, 2) + cpu)
    grown = torch.zeros(3, 2, device="cuda")
    grown.add_(coo, alpha=2)
    same(grown, 2 * cpu.to_dense())
    csr, rows = cpu.to_dense().to_sparse_csr(), cpu.to_dense().cuda().to_sparse_csr()
    same(rows @ dense.cuda(), csr @ dense)
    same((rows + rows).to_dense(), (csr + csr).to_dense())
    weight = torch.nn.Embedding(5, 3, sparse=True, device="cuda")
    weight(torch.tensor([1, 1, 4], device="cuda")).sum().backward()
    assert weight.weight.grad is not None
    same(weight.weight.grad.to_dense().sum(1), torch.tensor([0.0, 6.0, 0.0, 0.0, 3.0]))


def check_gradients_of_bags() -> None:
    """Sparse and dense ones, with the offsets that make the bags."""
    indices, offsets = torch.tensor([1, 1, 4, 0]), torch.tensor([0, 3])
    for mode, sparse in itertools.product(("sum", "mean", "max"), (False, True)):
        if sparse and mode == "max":
            continue  # PyTorch has none
        cpu = torch.nn.EmbeddingBag(5, 3, mode=mode, sparse=sparse)
        bag = copy.deepcopy(cpu).cuda()
        cpu(indices, offsets).square().sum().backward()
        bag(indices.cuda(), offsets.cuda()).square().sum().backward()
        assert bag.weight.grad is not None and cpu.weight.grad is not None
        assert bag.weight.grad.layout == cpu.weight.grad.layout
        torch.testing.assert_close(bag.weight.grad.cpu().to_dense(), cpu.weight.grad.to_dense())


def check_errors_are_those_of_the_cpu() -> None:
    x = torch.ones(2, 3, device="cuda")
    assert "must match the size" in raised(RuntimeError, lambda: x + torch.ones(4, device="cuda"))
    raised(IndexError, lambda: x.sum(dim=7))
    assert "expanded size" in raised(RuntimeError, lambda: x.copy_(torch.ones(5, device="cuda")))
    same(x, torch.ones(2, 3))


def check_mixed_devices_are_refused() -> None:
    x = torch.ones(2, 3, device="cuda")
    text = raised(RuntimeError, lambda: x + torch.ones(2, 3))
    assert "Expected all tensors to be on the same device" in text, text
    assert "cuda:0" in text, text
    assert "cpu" in text, text
    other = torch.ones(2, 3, device="cuda:1")
    assert "cuda:1" in raised(RuntimeError, lambda: x * other)
    same(x + torch.tensor(2.0), torch.full((2, 3), 3.0))  # a scalar on the CPU is allowed
    same(x[torch.tensor([1])], torch.ones(1, 3))  # so are indices


def check_copies() -> None:
    host = torch.arange(12.0).reshape(3, 4)
    there = host.to("cuda")
    same(there, host)
    same(host.t().to("cuda"), host.t())
    same(there.t(), host.t())
    same(there.to(torch.float16), host.to(torch.float16))
    same(torch.zeros(3, 4, device="cuda", dtype=torch.int32).copy_(host), host.to(torch.int32))
    same(torch.zeros(3, 4).copy_(there.t().contiguous().t()), host)
    half = torch.zeros(3, 4, dtype=torch.float64)
    half.copy_(there)
    same(half, host.double())
    same(torch.zeros(2, 3, 4, device="cuda").copy_(host), host.expand(2, 3, 4))
    strided = torch.zeros(3, 8, device="cuda")
    strided[:, ::2] = host
    same(strided[:, ::2], host)
    same(there.to("cuda:1"), host)
    pinned = torch.empty(3, 4, pin_memory=True)
    pinned.copy_(there, non_blocking=True)
    torch.cuda.synchronize()
    same(pinned, host)
    number = torch.tensor([1 + 2j], device="cuda")
    same(number.conj().cpu().resolve_conj(), torch.tensor([1 - 2j]))
    same(number.conj() * 2, torch.tensor([2 - 4j]))


def check_numbers_of_a_gpu_that_is_not_current() -> None:
    """PyTorch gets them through pinned memory that it uses again and again."""
    assert torch.cuda.current_device() == 0
    for number in range(20):
        there = torch.full((2,), float(number), device="cuda:1")
        assert there.sum().item() == 2.0 * number
        assert there[1].item() == number
        assert bool((there == number).all())
    for number in range(20):  # work of the current GPU's stream on memory of the other one
        there = torch.zeros(1 << 16, device="cuda:1")
        pinned = torch.empty(1 << 16, pin_memory=True)
        with torch.cuda.stream(torch.cuda.Stream(0)):
            there.fill_(number)
            pinned.copy_(there, non_blocking=True)
            torch.cuda.current_stream(1).synchronize()
        same(pinned, torch.full((1 << 16,), float(number)))


def check_lists_of_copies() -> None:
    to = [torch.zeros(2, device="cuda"), torch.zeros(3, device="cuda")]
    torch._foreach_copy_(to, [torch.ones(2), torch.ones(3)])
    torch._foreach_add_(to, [torch.ones(2, device="cuda"), torch.ones(3, device="cuda")])
    same(to[1], torch.full((3,), 2.0))


def check_random_numbers_follow_from_the_seed() -> None:
    def draw() -> list[torch.Tensor]:
        x = torch.randn(50, device="cuda")
        y = torch.nn.functional.dropout(torch.ones(200, device="cuda"), 0.5)
        return [x.cpu(), y.cpu(), torch.rand(9, device="cuda").cpu(), torch.randperm(20, device="cuda").cpu()]

    torch.cuda.manual_seed(3)
    first = draw()
    state = torch.cuda.get_rng_state()
    second = draw()
    torch.cuda.set_rng_state(state)
    again = draw()
    torch.cuda.manual_seed(3)
    third = draw()
    for one, two, repeated, start in zip(first, second, again, third, strict=True):
        assert not torch.equal(one, two)
        assert torch.equal(two, repeated)
        assert torch.equal(one, start)
    generator = torch.Generator(device="cuda").manual_seed(5)
    mine = torch.rand(5, device="cuda", generator=generator)
    same(torch.rand(5, device="cuda", generator=generator.manual_seed(5)), mine.cpu())


def check_random_results_that_are_resized_are_drawn_once() -> None:
    def draw(out: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
        torch.cuda.manual_seed(11)
        first = torch.rand(6, device="cuda", out=out) if out is not None else torch.rand(6, device="cuda")
        return first.cpu(), torch.rand(6, device="cuda").cpu()

    wanted = draw(None)
    for out in (torch.empty(0, device="cuda"), torch.empty(6, device="cuda"), torch.empty(0, device="cuda")):
        for one, other in zip(draw(out), wanted, strict=True):
            assert torch.equal(one, other)


def check_only_training_draws_random_numbers() -> None:
    x = torch.linspace(-1, 1, 50, device="cuda")
    torch.cuda.manual_seed(3)
    before = torch.cuda.get_rng_state()
    first = torch.nn.functional.rrelu(x, training=False)
    torch.ops.aten.native_dropout(x, 0.5, False)
    assert torch.equal(torch.cuda.get_rng_state(), before)
    same(first, torch.nn.functional.rrelu(x.cpu(), training=False))
    torch.nn.functional.rrelu(x, training=True)
    assert not torch.equal(torch.cuda.get_rng_state(), before)


def check_training_equals_the_cpu() -> None:
    torch.manual_seed(0)
    nn = torch.nn
    layers = (nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 4))
    model, batch = nn.Sequential(*layers), torch.randn(5, 3, 8, 8)
    losses = {}
    for device in ("cpu", "cuda"):
        mine = copy.deepcopy(model).to(device)
        optimizer = torch.optim.AdamW(mine.parameters(), lr=1e-2)
        losses[device] = []
        for _ in range(4):
            loss = mine(batch.to(device)).square().mean()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(mine.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            losses[device].append(loss.item())
    torch.testing.assert_close(torch.tensor(losses["cuda"]), torch.tensor(losses["cpu"]), rtol=1e-6, atol=0)


def check_recurrent_cells_equal_the_cpu() -> None:
    for kind in (torch.nn.LSTM, torch.nn.GRU):
        torch.manual_seed(1)
        net, x = kind(4, 5, num_layers=2), torch.randn(3, 2, 4)
        results = []
        for device in ("cpu", "cuda"):
            mine = copy.deepcopy(net).to(device)
            out = mine(x.to(device))[0]
            out.square().sum().backward()
            results.append([out.detach().cpu(), *(one.grad.cpu() for one in mine.parameters())])
        for one, other in zip(*results, strict=True):
            torch.testing.assert_close(one, other)


def check_step_boundaries() -> None:
    weight = torch.nn.Parameter(torch.ones(1000, device="cuda"))
    optimizer = torch.optim.SGD([weight], lr=0.1, momentum=0.9)
    begins, ends = count(BEGINS), count(ENDS)
    weight.square().sum().backward()
    optimizer.step()
    assert (count(BEGINS), count(ENDS)) == (begins + 1, ends + 1)
    assert count(BACKWARD) > 0  # told once by each thread that runs backward
    blocks, size = count(LIVE_BLOCKS), count(LIVE_BYTES)
    extra = torch.empty(5000, device="cuda")
    optimizer.step()
    assert (count(LIVE_BLOCKS), count(LIVE_BYTES)) == (blocks + 1, size + 20000)
    del extra
    optimizer.step()
    assert (count(LIVE_BLOCKS), count(LIVE_BYTES)) == (blocks, size)


def check_a_workspace_of_cublas_is_not_live() -> None:
    parameter = torch.nn.Parameter(torch.zeros(1 << 20, device="cuda"))
    optimizer = torch.optim.SGD([parameter], lr=0.1)
    parameter.grad = torch.ones_like(parameter)

    def live() -> tuple[int, int]:
        optimizer.step()
        return count(LIVE_BLOCKS), count(LIVE_BYTES)

    def give(block: torch.Tensor, size: int, set_: bool) -> None:
        LOOP.loop_workspace(ctypes.c_uint64(block.data_ptr()), ctypes.c_size_t(size), int(set_))

    blocks, size = live()
    work = torch.zeros(1 << 20, device="cuda")
    assert live() == (blocks + 1, size + (4 << 20))
    give(work, 4 << 20, True)
    assert live() == (blocks, size)
    give(work, 4 << 20, False)
    assert live() == (blocks + 1, size + (4 << 20)), "the handle has lost it"
    give(work, 2 << 20, True)
    assert live() == (blocks + 1, size + (4 << 20)), "the rest of it is data"
    give(work, 4 << 20, True)
    address = work.data_ptr()
    del work
    data = torch.zeros(1 << 20, device="cuda")
    assert data.data_ptr() == address
    assert live() == (blocks + 1, size + (4 << 20)), "what has its place now is data"


def check_memory_in_use_by_another_stream_stays_live() -> None:
    weight = torch.nn.Parameter(torch.ones(8, device="cuda"))
    weight.grad = torch.ones_like(weight)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    optimizer.step()
    before = count(LIVE_BYTES)
    LOOP.loop_hold_events(1)
    lent = torch.empty(3000, device="cuda")
    lent.record_stream(torch.cuda.Stream())
    del lent
    optimizer.step()
    assert count(LIVE_BYTES) == before + 12000
    LOOP.loop_hold_events(0)
    _ = torch.empty(1, device="cuda")  # the allocator looks at its events when it is asked for memory
    del _
    optimizer.step()
    assert count(LIVE_BYTES) == before


def main() -> None:
    torch_device.install(redirect=True, matrix_products=True)
    warnings.simplefilter("ignore")
    for name, check in sorted(globals().items()):
        if not name.startswith("check_"):
            continue
        wrong = None
        torch.manual_seed(1)  # whatever checks come before it
        try:
            check()
        except Exception:
            wrong = traceback.format_exc()
        print(json.dumps({"name": name, "wrong": wrong}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
