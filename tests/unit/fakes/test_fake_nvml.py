"""The fake NVML under nvidia-ml-py: the driver's devices, events from a file, a lost device."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_driver import Driver, copied

pynvml = pytest.importorskip("pynvml")


@pytest.fixture
def events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "events"
    path.write_text("xid 0 31\n")  # before anybody asked
    monkeypatch.setenv("JITC_FAKE_NVML_EVENTS", str(path))
    monkeypatch.setenv("JITC_FAKE_DEVICES", "2")
    return path


@pytest.fixture
def nvml(events: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    library = ctypes.CDLL(str(copied("nvml", tmp_path)))
    monkeypatch.setattr(pynvml, "nvmlLib", library)
    monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
    pynvml.nvmlInit()
    yield pynvml
    pynvml.nvmlShutdown()


def test_devices_are_those_of_the_driver(nvml: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    driver = Driver(tmp_path)
    driver.ok("cuInit", 0)
    count, raw, bus = ctypes.c_int(), ctypes.create_string_buffer(16), ctypes.create_string_buffer(16)
    driver.ok("cuDeviceGetCount", ctypes.byref(count))
    driver.ok("cuDeviceGetUuid_v2", raw, 1)
    driver.ok("cuDeviceGetPCIBusId", bus, 16, 1)
    assert nvml.nvmlDeviceGetCount() == count.value == 2
    handle = nvml.nvmlDeviceGetHandleByIndex(1)
    assert nvml.nvmlDeviceGetUUID(handle).replace("-", "") == "GPU" + raw.raw.hex()
    assert nvml.nvmlDeviceGetPciInfo(handle).busIdLegacy == bus.value.decode()
    assert nvml.nvmlDeviceGetMemoryInfo(handle).total == 1 << 30
    assert nvml.nvmlDeviceGetCudaComputeCapability(handle) == (9, 0)


def test_events_come_to_who_registered(nvml: Any, events: Path) -> None:
    handle, waiting = nvml.nvmlDeviceGetHandleByIndex(1), nvml.nvmlEventSetCreate()
    nvml.nvmlDeviceRegisterEvents(handle, nvml.nvmlEventTypeXidCriticalError, waiting)
    with pytest.raises(nvml.NVMLError_Timeout):
        nvml.nvmlEventSetWait(waiting, 1)
    with events.open("a") as file:
        file.write("xid 0 79\necc 1\nxid 1 94\n")
    event = nvml.nvmlEventSetWait(waiting, 1000)
    assert (event.eventType, event.eventData) == (nvml.nvmlEventTypeXidCriticalError, 94)
    assert nvml.nvmlDeviceGetIndex(event.device) == 1
    nvml.nvmlEventSetFree(waiting)


def test_a_lost_device(nvml: Any, events: Path) -> None:
    handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(2)]
    events.write_text("lost 0\n")
    with pytest.raises(nvml.NVMLError_GpuIsLost):
        nvml.nvmlDeviceGetUUID(handles[0])
    assert nvml.nvmlDeviceGetName(handles[1]) == "JITC Fake GPU"
