"""The environments of the matrix: one for each third-party library, with the project's PyTorch below it.

Promises: versions are pinned here and nowhere else; an environment is made once, and again when its pins change; it
sees the project's own virtual environment (PyTorch, which takes 5 GB, and jitc's start-up hook), and adds what is its
own. PyTorch and NumPy stay the project's: one process cannot have two of either. (One that cannot use this PyTorch pins
another, and sees nothing of the project's.)
Called by: matrix.py, bench/peers. Needs a package index that pip is configured for; nothing else is downloaded.
"""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

from toolkit.tree import ROOT

FOLDER = ROOT / "build" / "third-party" / "environments"

#: Name of the environment: what is installed there. PyTorch stays the project's, unless it is among that.
PINS: dict[str, tuple[str, ...]] = {
    "pytorch": (),
    "hugging-face": ("transformers==5.23.0", "accelerate==1.15.0"),
    "lightning": ("lightning==2.6.6", "litgpt==0.5.13"),
    "deepspeed": ("deepspeed==0.19.8",),
    "megatron": ("megatron-core==0.16.1",),
    "torchtitan": ("torchtitan==0.2.2",),
    "torchft": ("torchft==0.2.0",),
    "timm": ("timm==1.0.31", "torchvision==0.26.0"),
    "nano-gpt": ("nano-gpt==0.1.0", "transformers==5.23.0"),
    "x-transformers": ("x-transformers==2.31.10",),
    "opacus": ("opacus==1.6.0",),
    "gpytorch": ("gpytorch==1.15.2",),
    "stable-baselines3": ("stable-baselines3==2.9.2",),
    "torch-geometric": ("torch-geometric==2.8.1",),
    "diffusers": ("diffusers==0.42.1",),
    "trl": ("trl==1.16.0", "peft==0.21.2", "transformers==5.23.0", "accelerate==1.15.0", "datasets==5.2.0"),
    "sentence-transformers": (
        "sentence-transformers==6.2.0",
        "transformers==5.23.0",
        "accelerate==1.15.0",
        "datasets==5.2.0",
    ),
    # Of bench/peers alone.
    "nvrx": ("nvidia-resiliency-ext==0.4.1",),
    # In 0.2.0, the newest release, an all-reduce that fails ends the group that survived.
    "torchft-nightly": ("torchft-nightly==2026.10.26",),
    # Newer releases of PyTorch lack what it calls; it does not say that it needs the last two.
    "dlrover": ("dlrover[k8s,torch]==0.6.1", "torch==2.8.0", "protobuf==6.33.0", "numpy==2.3.4"),
}


class CannotInstall(Exception):
    """pip's own last words."""


def _kept() -> list[str]:
    """Requirements that no environment may change."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "list", "--format=json", "--disable-pip-version-check"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = {one["name"]: one["version"] for one in json.loads(listed.stdout)}
    return [f"{name}=={found[name]}" for name in ("torch", "numpy")]


def python_of(name: str) -> Path:
    """The environment's interpreter; made first where it is missing or was made from other pins."""
    folder, stamp = FOLDER / name, FOLDER / f"{name}.json"
    kept = [] if any(one.startswith("torch==") for one in PINS[name]) else _kept()
    made = json.dumps([kept, PINS[name]])
    python = folder / "bin" / "python"
    if python.exists() and stamp.exists() and stamp.read_text() == made:
        return python
    print(f"== environment {name}: {' '.join(PINS[name]) or 'PyTorch alone'}", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    ours = sysconfig.get_paths()["purelib"]
    theirs = subprocess.run(
        [str(python), "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    if kept:  # as a statement, since a plain path would leave out the .pth files that lie there
        Path(theirs, "project.pth").write_text(f"import site; site.addsitedir({ours!r})\n")
    if PINS[name]:
        _install(python, (*kept, *PINS[name]))
    stamp.write_text(made)
    return python


def _install(python: Path, requirements: tuple[str, ...]) -> None:
    done = subprocess.run(
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise CannotInstall(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "pip failed")
