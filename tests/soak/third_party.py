"""Programs of tests/third_party in the soak: those whose environments `make third-party` has made here.

Called by: catalogue.py. Promise: nothing is downloaded; a program that cannot run here is not in the list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from third_party.cases import CASES, Case
from third_party.environments import FOLDER, PINS, python_of
from third_party.execution import Run, execute
from third_party.execution import Way as Choice
from third_party.matrix import agree
from toolkit.workplace import Workplace

from .programs import LIMIT_SECONDS
from .ways import Way


@dataclass(frozen=True)
class ThirdParty:
    """Losses of every step and the bytes of all weights are compared."""

    case: Case
    reference: bool = True

    @property
    def name(self) -> str:
        return "third-party-" + "-".join(self.case.name.lower().replace(",", "").split())

    def run(self, place: Workplace, way: Way, seed: int | None) -> Any:
        name = "-".join(str(one) for one in (way.name, seed) if one is not None)
        choice = Choice(name, way.with_seed(seed or 0), environment=way.environment)
        place.note(f"output, logs and command: build/third-party/runs, {self.case.name}, {name}")
        return execute(self.case, python_of(self.case.environment), choice, LIMIT_SECONDS)

    def compare(self, got: Run, expected: Run) -> None:
        assert not (why := agree(expected, got, None)), why


def programs() -> list[ThirdParty]:
    made = [name for name, pins in PINS.items() if not pins or (FOLDER / name / "bin" / "python").exists()]
    return [ThirdParty(case) for case in CASES if case.environment in made]
