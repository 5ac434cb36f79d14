"""What the machine is: below jitc by raw driver calls, then jitc's own discovery, and PyTorch without the proxy."""

from __future__ import annotations

import contextlib
import json
import platform
import subprocess
import sys
import time
from importlib import metadata
from typing import Any

from ..lab import Lab, StepFailed, StepNotRun
from ..plan import GPU, JITC, TORCH
from ..preflight import libraries
from ..preflight.__main__ import PROBES

PACKAGES = (
    "torch", "triton", "grpcio", "protobuf", "nvidia-ml-py", "numpy", "jitc", "nvidia-nccl-cu13", "nvidia-cublas",
    "nvidia-cudnn-cu13", "nvidia-cuda-nvrtc", "cupy-cuda13x",
)  # fmt: skip
_COMMAND_SECONDS = 10.0
#: What these say is kept with the logs, where they are there.
_COMMANDS = (("nvidia-smi",), ("nvidia-smi", "-q"), ("ldconfig", "-p"), ("df", "-h"), ("dmesg",))
#: Without an answer of this one there is nothing to check.
_FIRST = "versions"


def preflight(lab: Lab) -> dict[str, Any]:
    """What the driver does, asked below jitc; each probe in a process and with a limit of its own."""
    if lab.rehearsal:
        raise StepNotRun("the software device has no driver")
    request = libraries.paths(lab.options)
    probes: dict[str, Any] = {}
    for name, (_, limit) in PROBES.items():
        if probes and not probes[_FIRST]["ok"] and name != "system":
            probes[name] = {"ok": False, "error": f"not asked: {probes[_FIRST]['error']}", "seconds": 0.0}
        else:
            probes[name] = _probe(lab, name, request, limit)
        lab.note(probes=probes)
    if not probes[_FIRST]["ok"]:
        lab.note(lacks={GPU: probes[_FIRST]["error"]})
        raise StepFailed(f"no GPU: {probes[_FIRST]['error']}")
    lab.note(gpu=probes[_FIRST]["data"]["gpus"][0]["name"], figures=_figures(probes))
    if bad := [f"{name}: {probe['error']}" for name, probe in probes.items() if not probe["ok"]]:
        raise StepFailed("; ".join(bad))
    return {}


def _probe(lab: Lab, name: str, request: dict[str, str], limit: float) -> dict[str, Any]:
    """Its answer; where it gives none, or not in time, that."""
    begin = time.monotonic()
    program = lab.start(f"probe-{name}", [sys.executable, "-m", "gpu.preflight", name], lab.environment())
    program.tell(**request)
    answer: dict[str, Any]
    try:
        line = program.line(limit)
        answer = json.loads(line) if line else {"ok": False, "error": program.how_it_ended()}
    except StepFailed as error:
        answer = {"ok": False, "error": f"{error} ({time.monotonic() - begin:.0f} s)"}
    program.close(1.0 if answer["ok"] else 0.0)
    return answer | {"seconds": time.monotonic() - begin}


def _figures(probes: dict[str, Any]) -> dict[str, Any]:
    """What decides, for the table."""
    found: dict[str, Any] = {}
    data = {name: probe["data"] for name, probe in probes.items() if probe["ok"]}
    if "context" in data:
        found["context s"] = data["context"]["context_seconds"]
    if "addresses" in data:
        found["addresses honoured"] = f"{data['addresses']['honoured']} of {len(data['addresses']['with_context'])}"
    if "host_memory" in data:
        found["host pointer"] = "the same" if data["host_memory"]["device_pointer_is_host_pointer"] else "another"
    if "stream_words" in data:
        found["word us"] = data["stream_words"]["non-blocking stream"]["until_seen"]["median_us"]
    if "variables" in data:
        found["variables"] = _variables(data["variables"])
    if "killed_process" in data:
        found["freed s"] = data["killed_process"]["memory_free_seconds"]
    if "killed_with_host_memory" in data:
        one = data["killed_with_host_memory"]
        found[f"end heard s, {one['host_bytes'] >> 30} GiB of the host's"] = one.get("pidfd_readable_seconds", "never")
    return found


def _variables(data: dict[str, Any]) -> str:
    fixed, after = data.get("fixed_layout"), data.get("after_libraries")
    if not fixed and data["reserved_layout"]["same"]:
        return "stay where addresses are reserved"
    if not fixed or not fixed["same"]:
        return "move"
    return "stay" if after and after["as_without"] else "stay, elsewhere after cuBLAS and NCCL"


def environment(lab: Lab) -> dict[str, Any]:
    """What is installed, what jitc finds, and that PyTorch works here without the proxy."""
    lab.note(
        python=platform.python_version(), system=platform.platform(), libc=" ".join(platform.libc_ver()),
        packages={name: version for name in PACKAGES if (version := _version(name))},
    )  # fmt: skip
    for words in _COMMANDS:
        _kept(lab, words)
    lacks: dict[str, str] = {}
    _asked(lab, "warm")
    if not lab.rehearsal and (why := _asked(lab, "discover", *lab.options)):
        lacks[JITC] = why
    if lab.stand_ins and not lacks:
        return {"lacks": {TORCH: "stand-ins for NVIDIA's libraries run none of PyTorch's kernels"}}
    if why := _asked(lab, "torch", "cpu" if lab.rehearsal else "cuda"):
        lacks[TORCH] = f"PyTorch does not compute without the proxy: {why}"
    if lacks:
        raise StepFailed("; ".join(f"{name}: {why}" for name, why in lacks.items()), {"lacks": lacks})
    return {}


def _asked(lab: Lab, what: str, *words: str) -> str:
    """Notes what a look at it gave; why it gave nothing, or nothing."""
    program = lab.program("look", what, *words)
    try:
        answer = program.answer()
    except StepFailed as error:
        return str(error)
    finally:
        program.close(1.0)
    lab.note(**{what: answer})
    return str(answer.get("error", ""))


def _kept(lab: Lab, words: tuple[str, ...]) -> None:
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=lab.left(_COMMAND_SECONDS), check=False,
        )  # fmt: skip
        lab.file(f"{'-'.join(words).replace('--', '-')}.txt").write_bytes(done.stdout)


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
