"""The addresses of a session's device memory and pinned memory.

Called by: the registry, for a new session. A session keeps its addresses as long as it lives, whichever GPU serves it,
and another service takes them from its record: they are chosen once, and never computed again from the GPU that serves
it. Promise: no two sessions of this node have addresses in common, so neither do those of one process. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from jitc.ops.options.table import PINNED_MOST

from ..common.config import ADDRESS_BASE, ADDRESS_BYTES, LARGE_BYTES, LARGE_SLOTS, PINNED_BASE, SLOTS


@dataclass(frozen=True)
class Addresses:
    """A session's addresses. base, bytes: of device memory; pinned: start of at most PINNED_MOST pinned bytes."""

    base: int
    bytes: int
    pinned: int

    def record(self) -> dict[str, int]:
        return asdict(self)

    def fields(self) -> dict[str, Any]:
        """Returns them as fields of a message."""
        return {"address_base": self.base, "address_bytes": self.bytes}


def nth(number: int, base: int = ADDRESS_BASE) -> Addresses:
    """Returns the addresses of this number. base: where all of them begin."""
    pinned = PINNED_BASE - ADDRESS_BASE + base + number * PINNED_MOST
    if number < LARGE_SLOTS:
        return Addresses(base + number * LARGE_BYTES, LARGE_BYTES, pinned)
    small = base + LARGE_SLOTS * LARGE_BYTES + (number - LARGE_SLOTS) * ADDRESS_BYTES
    return Addresses(small, ADDRESS_BYTES, pinned)


def free(used: Iterable[Addresses], base: int) -> Addresses | None:
    """Returns the first addresses that overlap none of these; None: all are in use."""
    taken = list(used)
    found = (nth(number, base) for number in range(SLOTS))
    return next((one for one in found if not any(_overlap(one, other) for other in taken)), None)


def _overlap(one: Addresses, other: Addresses) -> bool:
    device = one.base < other.base + other.bytes and other.base < one.base + one.bytes
    return device or abs(one.pinned - other.pinned) < PINNED_MOST
