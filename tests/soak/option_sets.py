"""Sets of options of a service under which every program must give what it gives without them.

Called by: command.py. To add one, add a line: a name, and the options as words; {seed} becomes the seed of the round.
"""

from __future__ import annotations

OPTION_SETS: dict[str, tuple[str, ...]] = {
    "shuffle": ("--shuffle", "{seed}"),
    "shuffle-scarce": ("--shuffle", "{seed}", "--journal-limit", "16MiB", "--pinned-limit", "1MiB", "--spares", "0"),
}


def with_seed(name: str, seed: int) -> tuple[str, ...]:
    return tuple(word.format(seed=seed) for word in OPTION_SETS[name])
