"""client_shim on a device that says it is a real GPU: nothing is redirected, steps, live blocks and phases are told.

The workers are those of the software device: it executes everything but kernels, and the program launches none.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from jitc.proxy.backends import software
from jitc.proxy.backends.base import GpuFacts
from jitc.proxy.backends.software import SoftwareBackend
from jitc.proxy.common import paths
from jitc.proxy.common.config import Config
from jitc.proxy.ranks.stats import session_stats
from jitc.proxy.service import Service
from jitc.v1 import control_pb2

PROGRAM = Path(__file__).with_name("cuda_kind_program.py")
READS = Path(__file__).with_name("cuda_kind_reads.py")


@pytest.fixture
def cudnn() -> bool:
    """Whether the service has libcudnn."""
    return False


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cudnn: bool) -> Iterator[Service]:
    monkeypatch.setattr(SoftwareBackend, "device", "cuda")
    monkeypatch.setattr(software, "GpuFacts", partial(GpuFacts, cudnn=cudnn))
    one = Service(Config(socket=str(tmp_path / "s"), gpus=1, snapshot_bytes=1 << 30, threads=1, validate_every=0))
    try:
        one.start()
        yield one
    finally:
        one.stop()


def run(service: Service, **environ: str) -> str:
    told = {"JITC_SOCKET": service.config.socket, "LD_PRELOAD": str(paths.preload_library())}
    told["CUDNN"] = "served" if service.registry.gpus[0].facts.cudnn else "not served"
    done = subprocess.run(
        [sys.executable, str(PROGRAM)], env=os.environ | told | environ, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stderr.rstrip().endswith("done")
    return done.stderr


@pytest.mark.parametrize("entry_points", ["1", "0"])
@pytest.mark.parametrize("phase", ["backward", "optimizer"])
@pytest.mark.sampled
def test_a_fault_in_a_phase(service: Service, phase: str, entry_points: str) -> None:
    """Also where the program has turned off the entry points by which PyTorch loads client_shim."""
    fault = control_pb2.Fault(kind="kill-worker", boundary=2, armed_at_boundary=True, phase=phase)
    armed = service.own.faults.arm(0, fault)
    run(service, TORCH_DEVICE_BACKEND_AUTOLOAD=entry_points)
    assert armed.done.is_set()
    assert f"phase {phase}" in armed.detail
    (one,) = service.own.recoveries()
    assert (one["cause"], one["boundary"], one["outcome"]) == ("worker-death", 2, "recovered")
    assert one["bytes_restored"] >= 4 << 16


@pytest.mark.parametrize("cudnn", [True])
def test_who_asks_for_cudnn_has_no_session(service: Service) -> None:
    program = "import ctypes; print(ctypes.CDLL(None).jitc_serves_cudnn(0), flush=True); input()"
    told = {"JITC_SOCKET": service.config.socket, "LD_PRELOAD": str(paths.preload_library())}
    with subprocess.Popen(
        [sys.executable, "-c", program], env=os.environ | told, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as asking:
        assert asking.stdout is not None
        assert asking.stdout.readline() == "1\n"
        assert not service.registry.sessions
        asking.communicate("\n", timeout=60)
    assert asking.returncode == 0


@pytest.mark.parametrize("cudnn", [True])
def test_cudnn_stays_as_it_is_where_it_is_served(service: Service) -> None:
    """Where it is not, every other test here sees that it is off."""
    run(service)


def test_an_allocator_that_does_not_tell(service: Service) -> None:
    fault = control_pb2.Fault(kind="kill-worker", boundary=3, armed_at_boundary=True, phase="forward")
    armed = service.own.faults.arm(0, fault)
    said = run(service, PYTORCH_CUDA_ALLOC_CONF="backend:cudaMallocAsync")
    assert armed.done.is_set()
    assert "allocator does not say what is live" in said


def test_a_python_without_jitc_is_told(service: Service, tmp_path: Path) -> None:
    """Nothing else would be missing: its operators run."""
    (tmp_path / "jitc").mkdir()
    (tmp_path / "jitc" / "__init__.py").write_text("raise ImportError\n")
    program = "import torch; print(torch.ones(4).to('cuda').cpu().tolist())"
    told = {"JITC_SOCKET": service.config.socket, "LD_PRELOAD": str(paths.preload_library())}
    told |= {"PYTHONPATH": str(tmp_path), "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | told, capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout == "[1.0, 1.0, 1.0, 1.0]\n"
    assert done.stderr.count("its optimizer steps are not seen: a fault of a GPU replays") == 1, done.stderr


def test_reads_say_what_they_read(service: Service) -> None:
    """PyTorch's own operators: numbers are told as numbers, everything else steers the program."""
    told = {"JITC_SOCKET": service.config.socket, "LD_PRELOAD": str(paths.preload_library())}
    with subprocess.Popen(
        [sys.executable, str(READS)], env=os.environ | told, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        bufsize=1,
    ) as program:  # fmt: skip
        assert program.stdin is not None and program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        [session] = service.registry.sessions.values()
        steering = [session_stats(session)["steering_reads"]]
        for kinds in ("numbers", "others"):
            program.stdin.write(kinds + "\n")
            reads = int(program.stdout.readline())
            steering.append(session_stats(session)["steering_reads"])
        program.stdin.close()
    assert program.returncode == 0
    assert steering == [0, 0, reads]
