"""Says before the set-up begins what is still to be done: how long, how much to download, how much disk and where.

    overview.py VENV TORCH

Called by: setup.mk, before every other step. Promises: nothing is changed; nothing is said where nothing is to be done.
Needs nothing but Python.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from steps import GB, MB, STEPS, Step

STAMPS = Path("build/stamps")


def packages_are_missing() -> bool:
    if (STAMPS / "system").exists():
        return False
    command = ["bash", str(Path(__file__).with_name("system-packages.sh")), "build", "missing"]
    return bool(subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout.strip())


def missing(venv: Path, torch: str) -> Iterator[tuple[str, str]]:
    """Returns the names of the steps that have something to do, and where that takes disk."""

    def has(name: str) -> bool:
        return any(venv.glob(f"lib/python*/site-packages/{name}.dist-info"))

    version = torch.rpartition("=")[2] if "=" in torch else "*"
    if packages_are_missing():
        yield "system", "in the system"
    if not (venv / "bin/python").exists():
        yield "venv", f"in {venv}"
    if not has(f"torch-{version}"):
        yield "torch", f"in {venv}"
    if not has("jitc-*"):
        yield "packages", f"in {venv}"
    if not (STAMPS / "native").exists():
        yield "native", "in build"


def amount(bytes_: int) -> str:
    return f"{bytes_ / GB:.1f} GB" if bytes_ >= 100 * MB else f"{bytes_ / MB:.0f} MB"


def row(step: Step, where: str) -> str:
    took = f"{step.minutes} min" if step.minutes else "seconds"
    download = f"{amount(step.download)} to download" if step.download else ""
    return f"   {step.title:<20} {took:>8}   {download:<19}  {amount(step.disk)} {where}"


def text(found: list[tuple[str, str]]) -> str:
    steps = [STEPS[name] for name, _ in found]
    minutes, download, disk = (sum(getattr(one, what) for one in steps) for what in ("minutes", "download", "disk"))
    head = f"== set-up: {f'about {minutes} minutes on two cores' if minutes else 'seconds'}"
    head += f", {amount(download)} to download at most" if download else ""
    head += f", {amount(disk)} of disk; {shutil.disk_usage('.').free / GB:.0f} GB are free here"
    lines = [head, *(row(STEPS[name], where) for name, where in found)]
    if STEPS["torch"] in steps:
        more = amount(STEPS["torch"].download)
        lines.append(
            f"   While PyTorch is installed its packages take {more} more in build; pip may keep them in its cache."
        )
    return "\n".join(lines)


if __name__ == "__main__":
    if left := list(missing(Path(sys.argv[1]), sys.argv[2])):
        print(text(left), flush=True)
