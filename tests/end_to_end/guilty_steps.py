"""A program that gives PyTorch's operators what they cannot bear, when it is told to.

Answers "places" (indices that are not there, in an operator that has no check of its own), "index" (one in an operator
that asserts on a GPU), "eigenvalues" (of infinities, which end the process on a CPU), "endless"
(a polynomial of a degree that takes years), "memory" (more than there is), "nan" (to a collective that checks for it)
and "state" with one line each: the error that it got, or a hash of the result.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable

import torch
import torch.distributed as dist


def places(state: torch.Tensor) -> torch.Tensor:
    grad = torch.ones(1, 2, 2, device="cuda")
    return torch.ops.aten.adaptive_max_pool2d_backward(
        grad, state[None], torch.full_like(grad, 2**40, dtype=torch.int64)
    )


def index(state: torch.Tensor) -> torch.Tensor:
    return state[torch.full((1,), 10**6, device="cuda")]


def eigenvalues(state: torch.Tensor) -> torch.Tensor:
    return torch.linalg.eigvals(state / 0)


def endless(state: torch.Tensor) -> torch.Tensor:
    return torch.special.legendre_polynomial_p(state[0, :1], torch.full((1,), 1e15, device="cuda"))


def memory(state: torch.Tensor) -> torch.Tensor:
    return torch.empty(1 << 50, device="cuda")


def nan(state: torch.Tensor) -> torch.Tensor:
    if not dist.is_initialized():
        dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
    none = torch.full((4,), float("nan"), device="cuda")
    dist.all_reduce(none)
    return none


def answer(state: torch.Tensor, action: Callable[[torch.Tensor], torch.Tensor]) -> str:
    try:
        return hashlib.sha256(action(state).cpu().numpy().tobytes()).hexdigest()
    except (RuntimeError, IndexError) as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


def main() -> None:
    torch.manual_seed(1)
    state = torch.rand(64, 64, device="cuda")
    actions = {
        "places": places,
        "index": index,
        "eigenvalues": eigenvalues,
        "endless": endless,
        "memory": memory,
        "nan": nan,
        "state": torch.Tensor.clone,
    }
    print("ready", flush=True)
    for line in sys.stdin:
        print(answer(state, actions[line.strip()]), flush=True)


if __name__ == "__main__":
    main()
