"""A job that goes as far as it is let, so that a test knows where it is however fast the machine is."""

from __future__ import annotations

import os
from pathlib import Path

#: A program that runs a script step by step; what its folder is named by.
PACED, PACE = ("tests/end_to_end/paced_steps.py",), "PACE"


class Pace:
    """The folder of a job of so many ranks. It stands still after the steps that it was granted."""

    def __init__(self, folder: Path, ranks: int) -> None:
        self._folder, self._ranks = folder, ranks
        folder.mkdir(exist_ok=True)
        self.granted = 0

    def grant(self, steps: int) -> None:
        """In all."""
        self.granted = steps
        part = self._folder / "granted.part"
        part.write_text(str(steps))
        os.replace(part, self._folder / "granted")

    def waits(self) -> bool:
        """Whether all ranks have made the steps that they were granted."""
        files = [self._folder / f"made.rank{rank}" for rank in range(self._ranks)]
        return all(one.exists() and int(one.read_text()) == self.granted for one in files)
