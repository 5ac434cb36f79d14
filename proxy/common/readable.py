"""Waits until a descriptor can be read from, whatever its number: `select` fails beyond 1,023, to which a service with
many sessions comes.

Called by: cluster/bridge_process.py, commands/private_service.py. Promise: an end, or an error, counts as something to
be read.
"""

from __future__ import annotations

import select
from typing import Protocol


class Described(Protocol):
    def fileno(self) -> int: ...


def readable(one: Described | int, seconds: float) -> bool:
    """Returns whether there is something to be read within so long."""
    watch = select.poll()
    watch.register(one, select.POLLIN)
    return bool(watch.poll(max(0.0, seconds) * 1000))
