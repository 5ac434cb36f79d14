"""Stands for the keeper's shelf, in the test's process: it holds memory by name, and gives descriptors of it."""

from __future__ import annotations

import os
from collections.abc import Sequence


class Shelf:
    """Its memory is closed by drop()."""

    def __init__(self) -> None:
        self.kept: dict[str, int] = {}

    def keep(self, name: str, descriptor: int, token: str = "") -> None:
        self.kept[name] = os.dup(descriptor)

    def drop(self, names: list[str]) -> None:
        for name in names:
            os.close(self.kept.pop(name))

    def take(self, names: Sequence[str]) -> dict[str, int]:
        return {name: os.dup(self.kept[name]) for name in names if name in self.kept}
