"""Runs a training script that routes tokens to experts, and ends it where the device was not routed as the program was.

python routing_agrees.py SCRIPT [ARGUMENTS...]

The program learns how many tokens each expert gets, and does what follows from that. The device keeps a row of the same
counts for each time, which a replay writes anew. So whatever a replay counts, the two are compared at the end.
ROUTE_BY=last-digits: experts are chosen by the last digits of the router's numbers, which no replay of a noisy job
gives again.
"""

from __future__ import annotations

import os
import runpy
import sys
from typing import Any

import torch

#: Rows that the device keeps: times that a layer is run.
MOST = 4096


class Routing:
    """What the program has read, and what the device has counted."""

    def __init__(self) -> None:
        self.read: list[list[int]] = []
        self.rows: torch.Tensor | None = None
        self._newest: torch.Tensor | None = None
        self._bincount, self._tolist = torch.bincount, torch.Tensor.tolist

    def install(self) -> None:
        routing = self

        def bincount(*arguments: Any, **keywords: Any) -> torch.Tensor:
            counts = routing._bincount(*arguments, **keywords)
            if routing.rows is None:
                routing.rows = torch.zeros(MOST, counts.numel(), dtype=counts.dtype, device=counts.device)
            routing.rows[len(routing.read)].copy_(counts)
            routing._newest = counts
            return counts

        def tolist(tensor: torch.Tensor) -> Any:
            values = routing._tolist(tensor)
            if tensor is routing._newest:
                routing.read.append(list(values))
            return values

        if os.environ.get("ROUTE_BY") == "last-digits":
            torch.Tensor.max = by_last_digits(torch.Tensor.max)  # type: ignore[method-assign]
        torch.bincount = bincount
        torch.Tensor.tolist = tolist  # type: ignore[method-assign]

    def check(self) -> None:
        assert self.rows is not None and self.read, "nothing was routed"
        counted = self._tolist(self.rows[: len(self.read)])
        wrong = [at for at, (mine, device) in enumerate(zip(self.read, counted, strict=True)) if mine != device]
        if wrong:
            sys.exit(
                f"routed otherwise than the program was told: {len(wrong)} of {len(counted)} times, first {wrong[0]}"
            )
        print(f"routed as the program was told, {len(counted)} times")


def by_last_digits(largest: Any) -> Any:
    """In place of the largest number's place, as train_moe.py asks for it."""

    def chosen(tensor: torch.Tensor, *arguments: Any, **keywords: Any) -> Any:
        found = largest(tensor, *arguments, **keywords)
        if arguments != (-1,) or not tensor.is_cuda:
            return found
        values, _ = found
        return values, (values.detach().view(torch.int32) % tensor.size(-1)).long()

    return chosen


def main() -> None:
    sys.argv = sys.argv[1:]
    script = os.path.abspath(sys.argv[0])
    sys.path.insert(0, os.path.dirname(script))
    routing = Routing()
    routing.install()
    runpy.run_path(script, run_name="__main__")
    routing.check()


if __name__ == "__main__":
    main()
