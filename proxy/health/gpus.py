"""Handles reports of GPUs' monitoring, and the return of a GPU that works again.

Called by: the back end's monitoring and injected faults (unhealthy), the Admin service (returned). Promises: a report
concerns all workers of the physical GPU; a lost GPU serves no session until `jitc gpu return` reports that it was
reset, even if another service takes over.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from ..backends.base import HealthEvent
from ..ranks.events import GpuUnhealthy
from ..ranks.rank import Rank, Ranks


class GpuHealth:
    """The health of all GPUs of the node."""

    def __init__(
        self, ranks: Ranks, post: Callable[[GpuUnhealthy], None], move_home: Callable[[Rank], None]
    ) -> None:  # fmt: skip
        """post: notifies the recovery; move_home: acts at the rank's next boundary."""
        self._ranks, self._post, self._move_home = ranks, post, move_home

    def unhealthy(self, event: HealthEvent) -> None:
        """Handles a report about all virtual GPUs of a physical one; a lost GPU cannot be used from now on."""
        ranks = self._ranks
        with ranks.changed:
            gpus = [gpu for gpu in ranks.gpus if gpu.physical == event.physical]
            for gpu in gpus:
                if event.lost:
                    gpu.lost = f"{event.message}; reset it, then run `jitc gpu return {gpu.index}`"
                    ranks.log.put(f"gpu/{gpu.index}", gpu.lost)
            concerned = [(gpu.index, worker) for gpu in gpus for worker in ranks.workers_on(gpu.index)]
        print(f"jitc-proxyd: physical GPU {event.physical}: {event.message}", file=sys.stderr, flush=True)
        for index, worker in concerned:
            self._post(GpuUnhealthy(index, worker, event.cause, event.message))

    def returned(self, index: int) -> str:
        """Makes a lost GPU usable again: its own sessions move home at their next boundary. Returns the effect, as a
        text."""
        ranks = self._ranks
        with ranks.changed:
            gpu = ranks.gpus[index]
            if not gpu.lost:
                return f"GPU {index} was not lost"
            gpu.lost = gpu.failure = ""
            ranks.log.delete(f"gpu/{index}")
            away = [one for one in ranks.sessions.values() if one.gpu == index != one.host]
            ranks.changed.notify_all()
        for session in away:
            self._move_home(session)
        print(f"jitc-proxyd: GPU {index} is back", file=sys.stderr, flush=True)
        return f"GPU {index} is back; {len(away)} sessions move to it at their next boundary"
