"""A program whose memory comes and goes: batches of changing size, caches emptied in the middle of a minibatch, memory
used up to the last. With expandable segments its allocations are mapped and unmapped by hand.

Prints one line per step: the loss and a hash of weights and momentum. Equal runs print equal lines. Arguments: steps.
"""

from __future__ import annotations

import hashlib
import sys

import torch

WIDTH = 2304  # weights of 20.25 MiB: more than PyTorch maps at once
BLOCK = 24 << 20


def use_up_memory() -> None:
    """PyTorch unmaps what it has cached before it gives up."""
    taken = []
    try:
        while True:
            taken.append(torch.empty(BLOCK, dtype=torch.uint8, device="cuda"))
    except torch.cuda.OutOfMemoryError:
        taken[len(taken) // 2].fill_(1)


def digest(*tensors: torch.Tensor) -> str:
    sha = hashlib.sha256()
    for tensor in tensors:
        sha.update(tensor.detach().cpu().numpy().tobytes())
    return sha.hexdigest()


def main() -> None:
    torch.manual_seed(1)
    weight = torch.nn.Parameter(torch.randn(WIDTH, WIDTH).cuda() / WIDTH)
    optimizer = torch.optim.SGD([weight], lr=0.5, momentum=0.9)
    for step in range(int(sys.argv[1])):
        batch = torch.randn(200 * (1 + step % 3), WIDTH).cuda()
        hidden = (batch @ weight).tanh()
        if step % 2:
            use_up_memory()
        del batch
        torch.cuda.empty_cache()
        loss = (hidden * hidden).mean()
        loss.backward()
        torch.cuda.empty_cache()
        optimizer.step()
        optimizer.zero_grad(set_to_none=step % 2 == 0)
        del hidden
        print(step, loss.item().hex(), digest(weight, optimizer.state[weight]["momentum_buffer"]), flush=True)
    kinds = {bool(segment["is_expandable"]) for segment in torch.cuda.memory_snapshot()}
    assert torch.cuda.memory_stats()["num_alloc_retries"] > 0
    print("expandable" if kinds == {True} else "not expandable" if kinds == {False} else "mixed")


if __name__ == "__main__":
    main()
