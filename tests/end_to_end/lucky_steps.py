"""A program with a race: it reads what it has copied to pinned memory after a moment, instead of waiting for the copy.

Prints how often it read something else than what it had copied. Arguments: rounds.
"""

from __future__ import annotations

import sys
import time

import torch

MOMENT = 0.003  # many times what such a copy takes


def main() -> None:
    landing = torch.zeros(16, dtype=torch.int64, pin_memory=True)
    number = torch.zeros(16, dtype=torch.int64, device="cuda")
    wrong = 0
    for turn in range(int(sys.argv[1])):
        number.fill_(turn + 1)
        landing.copy_(number, non_blocking=True)
        time.sleep(MOMENT)
        wrong += bool((landing != turn + 1).any())
        torch.cuda.synchronize()
    print(f"wrong {wrong} times")


if __name__ == "__main__":
    main()
