"""NVML's questions on a machine without NVML: answered from the service's GPUs."""

from __future__ import annotations

import json
import subprocess
import sys

from toolkit.job import PRELOAD
from toolkit.workplace import Workplace

PROGRAM = """
import ctypes
import json
import os
import pynvml
import torch

pynvml.nvmlInit()
gpu = pynvml.nvmlDeviceGetHandleByIndex(1)

def refused(ask):
    try:
        return str(ask(gpu))
    except pynvml.NVMLError as error:
        return type(error).__name__

before = refused(pynvml.nvmlDeviceGetMemoryInfo)
held = torch.empty(64 << 20, dtype=torch.uint8, device="cuda:1")
memory = pynvml.nvmlDeviceGetMemoryInfo(gpu)
free, total = torch.cuda.mem_get_info(1)
properties = torch.cuda.get_device_properties(1)

driver = ctypes.c_int()
ctypes.CDLL(None).cudaDriverGetVersion(ctypes.byref(driver))

def out_of_memory():
    try:
        torch.empty(1 << 50, dtype=torch.uint8, device="cuda:1")
    except RuntimeError as error:
        return type(error).__name__, str(error)

print(json.dumps({
    "count": pynvml.nvmlDeviceGetCount(),
    "name": [pynvml.nvmlDeviceGetName(gpu), properties.name],
    "uuid": [pynvml.nvmlDeviceGetUUID(gpu), f"GPU-{properties.uuid}"],
    "found": pynvml.nvmlDeviceGetIndex(pynvml.nvmlDeviceGetHandleByUUID(pynvml.nvmlDeviceGetUUID(gpu))),
    "capability": [list(pynvml.nvmlDeviceGetCudaComputeCapability(gpu)), [properties.major, properties.minor]],
    "memory": [[memory.total, memory.free, memory.used], [total, free, total - free]],
    "clock": [pynvml.nvmlDeviceGetClockInfo(gpu, 1), torch.cuda.clock_rate(1), properties.clock_rate // 1000],
    "processes": [[one.pid == os.getpid(), one.usedGpuMemory == memory.used]
                  for one in pynvml.nvmlDeviceGetComputeRunningProcesses(gpu)],
    "version": [pynvml.nvmlSystemGetCudaDriverVersion(), driver.value],
    "out_of_memory": out_of_memory(),
    "refused": [before, refused(lambda one: pynvml.nvmlDeviceGetTemperature(one, 0)),
                refused(lambda one: pynvml.nvmlDeviceGetHandleByIndex(2))],
}))
"""


def test_questions_are_answered_from_the_service(workplace: Workplace) -> None:
    environ = workplace.service(2).env | {"LD_PRELOAD": str(PRELOAD)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environ, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    said = json.loads(done.stdout)
    assert (said["count"], said["found"]) == (2, 1)
    for one in ("name", "uuid", "capability", "memory", "clock", "version"):
        assert all(answer == said[one][0] for answer in said[one]), (one, said[one])
    assert said["memory"][0][2] >= 64 << 20
    assert said["processes"] == [[True, True]]
    kind, text = said["out_of_memory"]  # PyTorch words it with what it asks NVML
    assert kind == "OutOfMemoryError" and "this process has 64.00 MiB memory in use" in text, text
    assert said["refused"] == ["NVMLError_NotSupported", "NVMLError_NotSupported", "NVMLError_InvalidArgument"]
