"""A small PyTorch training whose work is all cuDNN's, run by test_cudnn_training.py in lockstep.

`cudnn_training.py`: does a step for every line on standard input and prints the step and a hash of all that it has on
the device. With `evaluate` the optimizer makes no step, so that there is no boundary. The fake GPU runs no kernels of
PyTorch's, so there are none: convolutions, batch normalization and a recurrent layer are cuDNN's, all else is copies.
Each step needs all earlier ones.
"""

from __future__ import annotations

import hashlib
import sys
from typing import Any

import torch
from torch.nn import functional

BATCH, CHANNELS, SIZE = 2, 4, 8
STEPS, WIDTH, HIDDEN = 3, 6, 5
LSTM, DROPOUT = 2, 0.25  # cudnnRNNMode_t


class OnHost(torch.optim.Optimizer):
    """Computes on the host and copies, since the device has no kernels."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.copy_(parameter.cpu() - 0.05 * parameter.grad.cpu())


def on_device(*sizes: int) -> torch.Tensor:
    return torch.randn(*sizes).cuda()


class Training:
    def __init__(self, learns: bool) -> None:
        self.learns = learns
        torch.manual_seed(3)
        shapes = ((CHANNELS, 3, 3, 3), (CHANNELS,), (CHANNELS,), (CHANNELS, CHANNELS // 2, 3, 3))
        self.parameters = [on_device(*shape).requires_grad_() for shape in shapes]
        self.mean, self.variance = torch.zeros(CHANNELS).cuda(), torch.ones(CHANNELS).cuda()
        self.optimizer = OnHost(self.parameters, {})
        self.dropout = torch._cudnn_init_dropout_state(DROPOUT, True, 77, dtype=torch.uint8, device="cuda")
        self.weights = on_device(2 * 4 * HIDDEN * (WIDTH + HIDDEN + 2) + 4 * HIDDEN * HIDDEN)
        self.h, self.c = (on_device(2, BATCH, HIDDEN) for _ in range(2))

    def step(self, number: int) -> None:
        torch.manual_seed(1000 + number)
        self.optimizer.zero_grad()
        first, scale, bias, second = self.parameters
        hidden = functional.conv2d(on_device(BATCH, 3, SIZE, SIZE), first, padding=1)
        hidden = functional.batch_norm(hidden, self.mean, self.variance, scale, bias, training=True)
        output = functional.conv2d(hidden, second, stride=2, groups=2)
        output.backward(torch.randn(output.shape).cuda())  # type: ignore[no-untyped-call]
        self.recur()
        if self.learns:
            self.optimizer.step()

    def recur(self) -> None:
        """The layer's states and those of its dropout go from step to step."""
        x = on_device(STEPS, BATCH, WIDTH)
        flat = [self.weights[:1]] * 8  # not looked at: the weights are in the buffer
        with torch.no_grad():
            _, self.h, self.c, *_ = torch._cudnn_rnn(
                x, flat, 4, self.weights, self.h, self.c, LSTM, HIDDEN, 0, 2, False, DROPOUT, True, False, [],
                self.dropout,
            )  # fmt: skip

    def digest(self) -> str:
        found = hashlib.sha256()
        everything = (*self.parameters, self.mean, self.variance, self.dropout, self.weights, self.h, self.c)
        for one in everything:
            values = one.detach().cpu()
            assert one.dtype == torch.uint8 or values.isfinite().all(), "out of range"
            found.update(values.numpy().tobytes())
        return found.hexdigest()


def main() -> None:
    training = Training("evaluate" not in sys.argv)
    for number, _ in enumerate(sys.stdin):
        training.step(number)
        print(number, training.digest(), flush=True)


if __name__ == "__main__":
    main()
