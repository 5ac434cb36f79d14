"""Runs a training script that looks at its gradients, and ends it where the ranks hold other weights after a step.

python replicas_agree.py SCRIPT [ARGUMENTS...]

The ranks compare with each other, on the device: whatever a replay makes of the weights, the answer that the program
gets is the same as long as they agree.
"""

from __future__ import annotations

import os
import runpy
import sys
from typing import Any

import torch
import torch.distributed as dist
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook


def disagreement(optimizer: torch.optim.Optimizer) -> int:
    """0 when a checksum over the bits of all parameters is the same on all ranks."""
    sums = [
        parameter.detach().view(torch.int32).sum(dtype=torch.int64) * place
        for group in optimizer.param_groups
        for place, parameter in enumerate(group["params"], 1)
    ]
    mine = torch.stack(sums).sum()
    ends = torch.stack([mine, -mine])
    dist.all_reduce(ends, dist.ReduceOp.MAX)
    return int(ends.sum().item())


def read_gradients(optimizer: torch.optim.Optimizer) -> list[float]:
    """Numbers that the program has before the step, and that come out otherwise in the replay of a noisy job."""
    gradients = [parameter.grad for group in optimizer.param_groups for parameter in group["params"]]
    norms: list[float] = torch.stack([one.norm() for one in gradients if one is not None]).tolist()
    return norms


def main() -> None:
    hooked = False

    def after(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        if disagreement(optimizer):
            sys.exit("replicas disagree")

    def before(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        nonlocal hooked
        read_gradients(optimizer)
        if not hooked:  # after jitc's own hook, which is there once CUDA is used
            register_optimizer_step_post_hook(after)
            hooked = True

    register_optimizer_step_pre_hook(before)
    sys.argv = sys.argv[1:]
    script = os.path.abspath(sys.argv[0])
    sys.path.insert(0, os.path.dirname(script))
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
