"""Ways of running: options of a service under which every program must give what it gives without them.

Called by: command.py, programs.py. To add one, add it to WAYS. A way whose options the service of this build does not
have is left out, so that the list may be ahead of the build.
"""

from __future__ import annotations

import functools
import subprocess
from dataclasses import dataclass

from toolkit.service import BIN


@dataclass(frozen=True)
class Way:
    """{seed} in the options becomes the seed of the round; without one, a single round says all there is to say."""

    name: str
    options: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()  # of the programs
    under_faults: bool = False  # the seed decides on faults; for programs that take them from it, and for no others

    @property
    def seeded(self) -> bool:
        return self.under_faults or any("{seed}" in word for word in self.options)

    def with_seed(self, seed: int) -> tuple[str, ...]:
        return tuple(word.format(seed=seed) for word in self.options)


PLAIN = Way("plain", ())
WAYS: tuple[Way, ...] = (
    Way("shuffle", ("--shuffle", "{seed}")),
    # PyTorch has races of its own, which are known and mended on request.
    Way("check-order", ("--check-order",), (("JITC_KNOWN_FIXES", "1"),)),
    # Some faults are only found by their silence.
    Way("faults", ("--hang-seconds", "5"), under_faults=True),
)


@functools.cache
def available() -> tuple[Way, ...]:
    """The ways that the service of this build knows."""
    said = subprocess.run([str(BIN / "jitc-proxyd"), "--help"], capture_output=True, text=True, check=True)
    known = set(said.stdout.replace("[", " ").replace("]", " ").split())
    return tuple(one for one in WAYS if all(word in known for word in one.options if word.startswith("--")))
