"""Where the fake NVIDIA libraries are (tests/fakes), and what they recorded."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent


def fake_library(name: str) -> Path:
    """The newest build of libfake_NAME.so; JITC_TEST_FAKES names a folder of others."""
    if folder := os.environ.get("JITC_TEST_FAKES"):
        return Path(folder) / f"libfake_{name}.so"
    built = sorted(ROOT.glob(f"build/*/tests/libfake_{name}.so"), key=lambda path: path.stat().st_mtime)
    assert built, f"libfake_{name}.so is not built: run `make build`"
    return built[-1]


@dataclass(frozen=True)
class FakeCall:
    """A line of the log: a call (``name`` is the function), or work that a stream began (``runs``)."""

    name: str
    runs: bool
    pid: int
    id: int
    thread: int
    args: dict[str, Any]
    result: int
    stream: str = ""


def fake_calls(log: Path) -> list[FakeCall]:
    """What was recorded in JITC_FAKE_LOG; a missing file is an empty log."""
    if not log.exists():
        return []
    *lines, _ = log.read_text().split("\n")  # what comes after the last end of a line is being written just now
    return [_parsed(json.loads(line)) for line in lines]


def _parsed(line: dict[str, Any]) -> FakeCall:
    if "run" in line:
        return FakeCall(line["run"], True, line["pid"], line["of"], 0, {}, 0, line["stream"])
    return FakeCall(line["call"], False, line["pid"], line["id"], line["thread"], line["args"], line["result"])


def fake_environment(log: Path | None = None, **settings: str) -> dict[str, str]:
    """The process's environment with a log and settings, such as ``MEMORY="1048576"`` for JITC_FAKE_MEMORY."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("JITC_FAKE_")}
    if log:
        env["JITC_FAKE_LOG"] = str(log)
    return env | {f"JITC_FAKE_{name}": value for name, value in settings.items()}


def fake_compiler() -> tuple[str, str]:
    """The option of a service on the fake driver: the real NVRTC looks at libcuda.so.1, and a fake one ends it."""
    return "--nvrtc", str(fake_library("nvrtc"))


def fake_options(*names: str) -> tuple[str, ...]:
    """The options of a service that takes the fakes of these names for NVIDIA's libraries."""
    return tuple(word for name in names for word in (f"--{name}", str(fake_library(name))))


def wheel_library(candidates: Iterable[str]) -> Path | None:
    """The real library that PyTorch's wheels brought along, among what the service looks for."""
    found = map(Path, candidates)
    return next((path for path in found if path.is_absolute()), None)


#: What programs ask the loader for -> the fake that answers.
_SYSTEM = {"libcuda.so.1": "cuda", "libnccl.so.2": "nccl", "libnvidia-ml.so.1": "nvml"}


def fake_system(folder: Path, env: dict[str, str], **settings: str) -> dict[str, str]:
    """Links in folder, and an environment in which the loader takes the fakes for the system's libraries."""
    for name, fake in _SYSTEM.items():
        (folder / name).symlink_to(fake_library(fake))
    kept = {name: value for name, value in env.items() if not name.startswith("JITC_FAKE_")}
    path = f"{folder}:{env['LD_LIBRARY_PATH']}" if env.get("LD_LIBRARY_PATH") else str(folder)
    told = {"LD_LIBRARY_PATH": path, "JITC_FAKE_CUDA": str(folder / "libcuda.so.1")}
    return kept | told | {f"JITC_FAKE_{name}": value for name, value in settings.items()}
