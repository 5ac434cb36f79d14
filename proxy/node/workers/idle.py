"""Keeps one worker ready on every GPU that no program uses, so that the next program need not wait for the device.

Called by: the service. It looks again whenever the registry changes. Promises: a GPU without any worker gets one as
soon as there is a spare; a GPU that has failed is left alone until a program asks for it; no exception ends the thread.
"""

from __future__ import annotations

import sys
import threading

from ...common.complaints import Complaints
from ...ranks.rank import KILLED_SECONDS, NoWorker
from ..gpus import Gpu
from ..registry import Registry
from .assign import assign_worker
from .supervisor import Closing, StillEnding, Supervisor

#: Seconds between looks for idle workers that died, which is not always announced as a change of the registry.
LOOK_SECONDS = 0.5


class IdleWorkers:
    """The idle workers, filled in a thread of its own, since opening a device takes time."""

    def __init__(self, registry: Registry, supervisor: Supervisor) -> None:
        self._registry, self._supervisor = registry, supervisor
        self._stopped = False
        self._complaints = Complaints("jitc-idle")
        self._thread = threading.Thread(target=self._loop, name="jitc-idle", daemon=True)

    def start(self) -> None:
        """Fills every GPU with its worker before it returns. Raises NoWorker."""
        for gpu in self._registry.gpus:
            if not (gpu.lost or self._registry.used(gpu)):  # used since the previous service
                self._fill(gpu)
        self._thread.start()

    def stop(self) -> None:
        with self._registry.changed:
            self._stopped = True
            self._registry.changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(30)

    def _loop(self) -> None:
        while not self._stopped:
            try:
                self._round()
            except Exception as error:
                self._complaints.of(error)
                with self._registry.changed:
                    self._registry.changed.wait(LOOK_SECONDS)

    def _round(self) -> None:
        with self._registry.changed:
            gpu = next((one for one in self._registry.gpus if self._empty(one)), None)
            if gpu is None:
                self._registry.changed.wait(LOOK_SECONDS)
                return
        try:
            self._fill(gpu, ends=0.0)  # other GPUs wait for theirs too
        except (Closing, StillEnding):
            with self._registry.changed:
                self._registry.changed.wait_for(lambda: self._stopped, LOOK_SECONDS)
        except NoWorker as error:
            print(f"jitc-proxyd: GPU {gpu.index} has no worker: {error}", file=sys.stderr, flush=True)

    def _empty(self, gpu: Gpu) -> bool:
        registry = self._registry
        return not (self._stopped or gpu.lost or gpu.failure or registry.used(gpu) or registry.workers_of(gpu))

    def _fill(self, gpu: Gpu, ends: float = KILLED_SECONDS) -> None:
        worker = assign_worker(self._registry, self._supervisor, gpu, ends=ends)
        with self._registry.changed:
            spare = gpu.idle if gpu.idle is not None and gpu.idle.alive() else None
            if spare is None:
                gpu.idle = worker
            self._registry.changed.notify_all()
        if spare is not None or self._stopped:
            worker.kill()
