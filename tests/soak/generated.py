"""Programs of the grammar in the soak: some in each round, and as many as one wants by themselves.

Called by: catalogue.py, command.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolkit.workplace import Workplace

from .grammar import draw
from .grammar.campaign import NAME, Campaign
from .grammar.model import Program, read
from .grammar.pool import Pool
from .results import commit
from .ways import Way

#: Of a round.
SHARE = 5


@dataclass(frozen=True)
class GeneratedPrograms:
    """Other ones in each round; they are compared with runs of their own."""

    name: str = NAME
    reference: bool = False
    under_faults: bool = True

    def run(self, place: Workplace, way: Way, seed: int | None) -> Any:
        campaign = Campaign(place.folder / "programs.json", commit(), say=place.note)
        first = (seed or 0) * SHARE
        drawn = ((one, draw.program(one)) for one in range(first, first + SHARE))
        each(place, campaign, drawn, way.with_seed(seed or 0))
        assert not (found := campaign.defects()), "\n".join(one.line() for one in found)

    def compare(self, got: Any, expected: Any) -> None: ...


def each(
    place: Workplace, campaign: Campaign, programs: Iterable[tuple[int, Program]], options: tuple[str, ...] = ()
) -> None:
    pool = Pool(place, options)
    try:
        for seed, program in programs:
            campaign.add(pool, seed, program)
    finally:
        pool.close()


def of_file(path: Path) -> Iterable[tuple[int, Program]]:
    one = read(path.read_text())
    return [(one.seed, one)]


def campaign(path: Path, programs: Iterable[tuple[int, Program]], twice: bool) -> int:
    """Each of them; the exit status."""
    made = Campaign(path, commit(), twice, lambda line: print(line, flush=True))
    place = Workplace(f"soak-{NAME}")
    complaints: list[str] = []
    try:
        each(place, made, programs)
    except KeyboardInterrupt:
        print("soak: interrupted")
    finally:
        complaints = place.close(bool(made.defects()))
    print(made.table(), *complaints, sep="\n")
    return 1 if made.defects() or complaints or not made.rows else 0
