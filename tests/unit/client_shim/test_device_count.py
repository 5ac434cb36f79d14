"""PyTorch counts the GPUs of the service, whatever NVML says about the machine's."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from pathlib import Path

import pytest
from toolkit.fakes import fake_library
from toolkit.job import PRELOAD
from toolkit.workplace import Workplace

PROGRAM = """
import json
import torch

before = torch.cuda.device_count()
torch.cuda.manual_seed_all(7)
states = [torch.cuda.get_rng_state(device).tolist() for device in range(before)]
print(json.dumps([torch.cuda._raw_device_count_nvml(), before, torch.cuda.device_count(), states]))
torch.cuda.get_device_properties(before - 1)
"""

FORKS = """
import multiprocessing
import torch

count, inherited = torch.cuda.device_count(), multiprocessing.get_context("fork")

def child(answers):
    answers.put(torch.ones(count, device="cuda").sum().item())

answers = inherited.SimpleQueue()
process = inherited.Process(target=child, args=(answers,))
process.start()
process.join()
print(process.exitcode, answers.get() if process.exitcode == 0 else None, torch.ones(3, device="cuda").sum().item())
"""


LATER = """
import os
import torch

first = torch.cuda.device_count()
os.environ["CUDA_VISIBLE_DEVICES"] = "1"
second = torch.cuda.device_count()
torch.ones(1, device="cuda")
os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"
print(first, second, torch.cuda.device_count())
"""


def ask(environ: dict[str, str]) -> list[object]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environ, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    told: list[object] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize(("physical", "visible"), [(1, ""), (8, ""), (8, "1")])
@pytest.mark.sampled
def test_the_gpus_are_those_of_the_service(workplace: Workplace, tmp_path: Path, physical: int, visible: str) -> None:
    """NVML's number is another one: of two virtual GPUs on one, or of a machine of which the service has a part."""
    (tmp_path / "libnvidia-ml.so.1").symlink_to(fake_library("nvml"))
    service = workplace.service(2)
    environ = service.env | {"LD_PRELOAD": str(PRELOAD), "LD_LIBRARY_PATH": str(tmp_path)}
    environ["JITC_FAKE_DEVICES"] = str(physical)
    if visible:
        environ["CUDA_VISIBLE_DEVICES"] = visible
    of_nvml, before, after, states = ask(environ)
    served = len(visible.split(",")) if visible else 2
    assert (of_nvml, before, after) == (physical, served, served)
    assert isinstance(states, list) and len(states) == served
    assert all(state == states[0] for state in states)


def test_a_program_that_has_only_counted_may_fork(workplace: Workplace) -> None:
    service = workplace.service(2)
    environ = service.env | {"LD_PRELOAD": str(PRELOAD)}
    done = subprocess.run(
        [sys.executable, "-c", FORKS], env=environ, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.strip() == "0 2.0 3.0", done.stderr[-4000:]


def test_a_program_that_has_only_counted_may_hide_gpus(workplace: Workplace) -> None:
    service = workplace.service(2)
    environ = service.env | {"LD_PRELOAD": str(PRELOAD)}
    done = subprocess.run(
        [sys.executable, "-c", LATER], env=environ, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.strip() == "2 1 1", done.stderr[-4000:]


def test_without_the_interposer_nothing_is_changed() -> None:
    import torch

    assert not hasattr(ctypes.CDLL(None), "jitc_device_kind")
    assert torch.cuda._device_count_nvml.__module__ == "torch.cuda"
