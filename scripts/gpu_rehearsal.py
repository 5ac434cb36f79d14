"""make gpu-check REHEARSE=stand-ins: the whole check on a machine without a GPU, from the bundle that is carried.

NVIDIA's libraries are the tests' stand-ins (tests/fakes) at their strictest: loading a module waits for all work,
variables lie at another place in each process, kernels and copies take the time of an H100's. The steps below PyTorch
run as on a GPU, the others say that they cannot: `make gpu-check REHEARSE=1` runs those. Options are the check's. Its
exit status is 0 when every step did what it should; the results are in $OUT, else in build/gpu-rehearsal.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import gpu_bundle  # noqa: E402
from toolkit.fakes import fake_options, fake_system  # noqa: E402

STRICT = {"WAITS": "1", "VARIABLES": "moved", "PACE": "h100", "RDMA": "refused"}
LIBRARIES = ("nccl", "cublas", "cublaslt", "cudnn", "nvrtc")


def main(words: list[str]) -> int:
    options = fake_options(*LIBRARIES)
    services = [f"--service={name}={path}" for name, path in zip(options[::2], options[1::2], strict=True)]
    with tempfile.TemporaryDirectory(prefix="jitc-rehearsal-") as name:
        bundle, driver = Path(name, "bundle"), Path(name, "driver")
        for folder in (bundle, driver):
            folder.mkdir()
        gpu_bundle.fill(bundle)
        environment = fake_system(driver, dict(os.environ), **STRICT)
        environment["OUT"] = os.environ.get("OUT") or str(ROOT / "build" / "gpu-rehearsal")
        command = [sys.executable, "gpu_check.py", "--rehearse", "stand-ins", *services, *words]
        return subprocess.run(command, cwd=bundle, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
