"""Records that the example scripts write, and how they are compared."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Record:
    """What one rank computed."""

    rank: int
    losses: tuple[str, ...]
    hashes: tuple[tuple[str, str], ...]  # data, weights, optimizer and what else the script hashes

    def values(self) -> list[float]:
        return [float.fromhex(loss) for loss in self.losses]


def read_records(folder: Path) -> list[Record]:
    paths = sorted(folder.glob("record.rank*.json"))
    return [_record(json.loads(path.read_text())) for path in paths]


def _record(document: dict[str, Any]) -> Record:
    plain = ("rank", "world_size", "losses", "parameters", "seconds")
    hashes = tuple(sorted((name, value) for name, value in document.items() if name not in plain))
    return Record(document["rank"], tuple(document["losses"]), hashes)


def assert_identical(got: list[Record], expected: list[Record]) -> None:
    """Every loss to the last bit, every hash."""
    assert len(got) == len(expected) > 0, f"{len(got)} records instead of {len(expected)}"
    for mine, other in zip(got, expected, strict=True):
        assert mine.rank == other.rank
        assert mine.losses and mine.hashes, f"rank {mine.rank} has recorded nothing that could differ"
        pairs = zip(mine.losses, other.losses, strict=False)
        differing = next((step for step, (a, b) in enumerate(pairs, 1) if a != b), None)
        assert differing is None, f"rank {mine.rank}: losses differ from step {differing} on"
        assert len(mine.losses) == len(other.losses), f"rank {mine.rank}: other number of steps"
        ours, theirs = dict(mine.hashes), dict(other.hashes)
        assert ours.keys() == theirs.keys(), f"rank {mine.rank}: hashes of {sorted(ours)}, not of {sorted(theirs)}"
        wrong = [name for name in ours if ours[name] != theirs[name]]
        assert not wrong, f"rank {mine.rank}: SHA-256 differs of {', '.join(wrong)}"


def assert_close(got: list[Record], expected: list[Record], relative: float) -> None:
    assert len(got) == len(expected) > 0
    for mine, other in zip(got, expected, strict=True):
        for step, (a, b) in enumerate(zip(mine.values(), other.values(), strict=True), 1):
            assert abs(a - b) <= relative * abs(b), f"rank {mine.rank}, step {step}: {a!r} against {b!r}"
