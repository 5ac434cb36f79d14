"""NVML through nvidia-ml-py: which physical GPUs exist, and their events.

Called by: backend.py. Promises: nothing here touches CUDA, so that the service never holds a context; a message about
something missing names the package and the command that provide it; the watch's thread ends with stop() alone.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

from ...common.complaints import Complaints
from ..base import HealthEvent, NoDevice
from .xid import APPLICATION, describe, is_lost

#: Duration of one wait for events: stop() takes no longer.
WAIT_MS = 500
#: Waits without an event between looks for GPUs that may be lost without one.
WAITS_PER_LOOK = 4


def load() -> Any:
    """Returns the module pynvml, initialised. Raises NoDevice."""
    try:
        import pynvml
    except ImportError:
        raise NoDevice(
            "--device cuda needs the Python package nvidia-ml-py; install it with `pip install nvidia-ml-py`"
        ) from None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        raise NoDevice(_why(pynvml, error)) from None
    return pynvml


def _why(pynvml: Any, error: Any) -> str:
    if error.value == pynvml.NVML_ERROR_LIBRARY_NOT_FOUND:
        return (
            "no NVIDIA driver on this machine (libnvidia-ml.so.1 is not found); see whether `nvidia-smi` runs, or use "
            "--device software"
        )
    return f"NVML does not start ({error}); see whether `nvidia-smi` runs, or use --device software"


def physical_gpus() -> dict[str, str]:
    """Returns each GPU's name by NVML's uuid ("GPU-..."), in NVML's order. Raises NoDevice when there is none."""
    pynvml = load()
    try:
        handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
        found = {_text(pynvml.nvmlDeviceGetUUID(one)): _text(pynvml.nvmlDeviceGetName(one)) for one in handles}
    except pynvml.NVMLError as error:
        raise NoDevice(f"NVML cannot list the GPUs ({error}); see what `nvidia-smi` says") from None
    finally:
        pynvml.nvmlShutdown()
    if not found:
        raise NoDevice("no NVIDIA GPU found (NVML lists none); see what `nvidia-smi -L` says")
    return found


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


class NvmlWatch:
    """A thread that waits for Xid and ECC events of the GPUs, and reports them."""

    def __init__(self, physical: Mapping[str, int], report: Callable[[HealthEvent], None]) -> None:
        """physical: the service's number of each GPU by NVML's uuid."""
        self._report = report
        self._nvml = load()
        self._stopped = threading.Event()
        self._lost: set[int] = set()
        self._quiet = 0  # waits without an event since the last look
        self._complaints = Complaints("jitc-nvml")
        self._gpus: dict[str, tuple[int, Any]] = {}
        self._events = self._event_set()
        for uuid, number in physical.items():
            self._register(uuid, number)
        self._thread = threading.Thread(target=self._loop, name="jitc-nvml", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(10)
        if self._thread.is_alive():
            return  # a driver that hangs must not keep the service from ending
        if self._events is not None:
            self._nvml.nvmlEventSetFree(self._events)
        self._nvml.nvmlShutdown()

    def _event_set(self) -> Any:
        """Returns the set of watched events; None where NVML cannot deliver any, as in some sandboxes."""
        try:
            return self._nvml.nvmlEventSetCreate()
        except self._nvml.NVMLError as error:
            print(f"jitc-proxyd: NVML does not report events here ({error}); Xids are not watched", file=sys.stderr)
            return None

    def _register(self, uuid: str, number: int) -> None:
        nvml = self._nvml
        wanted = nvml.nvmlEventTypeXidCriticalError | nvml.nvmlEventTypeDoubleBitEccError
        try:
            handle = nvml.nvmlDeviceGetHandleByUUID(uuid)
            self._gpus[uuid] = number, handle
            if self._events is None:
                return
            able = nvml.nvmlDeviceGetSupportedEventTypes(handle) & wanted
            nvml.nvmlDeviceRegisterEvents(handle, able, self._events)
        except nvml.NVMLError as error:
            print(f"jitc-proxyd: NVML does not report events of {uuid} ({error}); not watched", file=sys.stderr)

    def _loop(self) -> None:
        while not self._stopped.is_set():
            try:
                self._round()
            except Exception as error:
                self._complaints.of(error)
                self._stopped.wait(WAIT_MS / 1000)

    def _round(self) -> None:
        nvml = self._nvml
        try:
            event = self._next_event()
        except nvml.NVMLError as error:
            timeout = error.value == nvml.NVML_ERROR_TIMEOUT
            if not timeout:
                self._stopped.wait(WAIT_MS / 1000)
            self._quiet = (self._quiet + 1) % WAITS_PER_LOOK if timeout else 0
            if not self._quiet:
                self._look_for_lost()
            return
        self._take(event)

    def _next_event(self) -> Any:
        if self._events is None:
            raise self._nvml.NVMLError(self._nvml.NVML_ERROR_NOT_SUPPORTED)
        return self._nvml.nvmlEventSetWait(self._events, WAIT_MS)

    def _take(self, event: Any) -> None:
        number = self._number(event.device)
        if number is None:
            return
        nvml = self._nvml
        if event.eventType == nvml.nvmlEventTypeDoubleBitEccError:
            self._report(HealthEvent(number, "ecc-error", "NVML: uncorrectable (double bit) ECC error"))
            return
        code = int(event.eventData)
        if code in APPLICATION:
            # The context concerned gets a sticky error by itself; a context of a killed worker needs nothing.
            print(f"jitc-proxyd: physical GPU {number}: {describe(code)}; left to the worker", file=sys.stderr)
            return
        if is_lost(code):
            self._lost.add(number)
        self._report(HealthEvent(number, "device-lost" if is_lost(code) else "xid", describe(code), is_lost(code)))

    def _number(self, device: Any) -> int | None:
        try:
            uuid = _text(self._nvml.nvmlDeviceGetUUID(device))
        except self._nvml.NVMLError:
            self._look_for_lost()
            return None
        return self._gpus.get(uuid, (None, None))[0]

    def _look_for_lost(self) -> None:
        """Looks for GPUs lost from the bus without an event of their own; calls that need the GPU itself then fail."""
        for uuid, (number, handle) in self._gpus.items():
            try:
                self._nvml.nvmlDeviceGetMemoryInfo(handle)
            except self._nvml.NVMLError as error:
                if error.value == self._nvml.NVML_ERROR_GPU_IS_LOST and number not in self._lost:
                    self._lost.add(number)
                    self._report(HealthEvent(number, "device-lost", f"NVML: {uuid} is lost", lost=True))
