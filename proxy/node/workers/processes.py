"""Worker processes, known by descriptors that become readable when the process ends.

Called by: workers, take_over.py; who waits for the first words of a process that begins. Promise: a descriptor means
one process, even if its number is given to another process later; the keeper makes it (keeper/process/children.py),
also of one that this process cannot see; its owner closes it.
"""

from __future__ import annotations

import select


def ended(descriptor: int) -> bool:
    """Returns whether the process has ended by now."""
    return ends_within(descriptor, 0)


def ends_within(descriptor: int, seconds: float) -> bool:
    """Waits for the process's end. Returns False if it is still running."""
    return readable(descriptor, seconds)


def readable(descriptor: int, seconds: float) -> bool:
    """Waits until something can be read, or nothing will be any more. Its number may be any, with which `select` fails
    in a service that has many sessions."""
    watch = select.poll()
    watch.register(descriptor, select.POLLIN)
    return bool(watch.poll(seconds * 1000))
