"""docker/Dockerfile is built, both targets, and what is built trains: the service's image beside the training image.

A quarter of an hour, and 20 GB for as long. No registry is asked: Debian's own packages make the base. What the machine
has of its own for pip and apt (an index, a certificate) is there while the images are built, and is not in them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from toolkit import debian
from toolkit.containers import SOCKET, Podman, private_podman, why_not
from toolkit.debian import BASE_SECONDS
from toolkit.job import ROOT
from toolkit.waiting import patient

BUILD_SECONDS = 3000.0
ROOM = 30 << 30
SUITE, BASE = "bookworm", "localhost/debian:bookworm-slim"
#: Of this machine, where they are there.
SETTINGS = (
    "/etc/pip.conf", "/etc/xdg/pip", "/root/.config/pip", "/etc/ssl/certs", "/etc/apt/apt.conf.d",
    "/etc/apt/sources.list.d",
)  # fmt: skip
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(BUILD_SECONDS + BASE_SECONDS + 600),
    pytest.mark.skipif(bool(why_not()), reason=why_not() or "podman"),
    pytest.mark.skipif(bool(debian.why_not()), reason=debian.why_not() or "debian"),
]


@pytest.fixture
def podman() -> Iterator[Podman]:
    if shutil.disk_usage(tempfile.gettempdir()).free < ROOM:
        pytest.skip(f"images need {ROOM >> 30} GB of room in {tempfile.gettempdir()}")
    with private_podman("jitc-images-") as one:
        yield one


def make_base(podman: Podman, folder: Path) -> None:
    root = folder / "root"
    debian.make(root, SUITE, "ca-certificates")
    archive = folder / "root.tar"
    subprocess.run(["tar", "-C", str(root), "-cf", str(archive), "."], check=True, timeout=patient(BASE_SECONDS))
    shutil.rmtree(root)
    podman.run("import", "-q", str(archive), BASE, seconds=patient(BASE_SECONDS))
    archive.unlink()


def folders_of_pip() -> set[str]:
    """Packages that lie on this machine's disk, which its settings name; of an index its top folder, which has its
    files beside its pages."""
    said = subprocess.run(["pip", "config", "list"], capture_output=True, text=True, check=False).stdout
    found = [Path(one) for one in re.findall(r"(?:file://|')(/[^' ]+)", said) if os.path.isdir(one)]
    return {str(one.parent if one.name == "simple" else one) for one in found}


def build(podman: Podman, target: str, sources: Path) -> None:
    """Of the newest commit, as somebody who has cloned it would."""
    there = sorted({one for one in SETTINGS if os.path.exists(one)} | folders_of_pip())
    mounts = [word for one in there for word in ("--volume", f"{one}:{one}:ro")]
    arguments = [f"BASE={BASE}", *(f"{name}={os.environ[name]}" for name in ("PIP_CERT",) if name in os.environ)]
    given = [word for one in arguments for word in ("--build-arg", one)]
    podman.run(
        "build", "-q", "--network", "host", "--isolation", "chroot", *mounts, *given, "--target", target,
        "-t", f"localhost/jitc-{target}", "-f", str(sources / "docker" / "Dockerfile"), str(sources),
        seconds=patient(BUILD_SECONDS),
    )  # fmt: skip


def test_both_images_are_built_and_train_together(podman: Podman, tmp_path: Path) -> None:
    make_base(podman, tmp_path)
    sources = tmp_path / "sources"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(sources)], check=True, timeout=120)
    for target in ("service", "train"):
        build(podman, target, sources)
    common = ("--network", "none", "--read-only", "--cap-drop", "all", "-v", "socket:/run/jitc", "--tmpfs", "/tmp")
    podman.run("run", "-d", "--name", "proxyd", *common, "localhost/jitc-service")
    ready = f"until jitc status > /dev/null 2>&1; do [ -d {Path(SOCKET).parent} ] || exit 1; done"
    podman.run("run", "--rm", *common, "localhost/jitc-train", "sh", "-c", ready, seconds=patient(120))
    said = podman.run("run", "--rm", *common, "localhost/jitc-train", seconds=patient(300))
    assert re.search(r"^step ", said, re.MULTILINE), said
    said = podman.run("run", "--rm", *common, "localhost/jitc-train", "jitc", "report")
    assert "no recoveries so far" in said, said
