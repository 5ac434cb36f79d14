"""Finds what a test left behind: processes and files.

Every process that a test starts carries a mark in its environment, which children inherit; so a
process that changed its parent is found too.
"""

from __future__ import annotations

import contextlib
import fnmatch
import os
import secrets
from pathlib import Path

MARK = "JITC_TEST_MARK"
#: Programs beside the tests leave these, for good or while they have nothing open there: podman's locks, from its first
#: run on, what it builds and copies images with, and DLRover's checkpoints in memory (bench/peers runs it).
OTHERS = (
    "/dev/shm/libpod_lock", "/dev/shm/libpod_rootless_lock_*", "/dev/shm/*_ckpt_shm_*",
    "/var/tmp/buildah[0-9]*", "/var/tmp/storage[0-9]*", "/var/tmp/container_images_*",
)  # fmt: skip


def new_mark() -> str:
    return secrets.token_hex(8)


def marked_processes(mark: str) -> dict[int, str]:
    """Living processes (not zombies) with the mark: pid -> command line."""
    wanted = f"{MARK}={mark}".encode()
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if wanted not in (entry / "environ").read_bytes().split(b"\0"):
                continue
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            if (entry / "stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                continue
        except OSError:
            continue  # it ended meanwhile
        if command:
            found[int(entry.name)] = command
    return found


def visible_files() -> set[str]:
    """What this user has in the places where nothing may be left."""
    found = set()
    for folder in map(Path, ("/dev/shm", "/var/tmp")):
        found |= {str(one) for one in folder.iterdir() if _mine(one)} if folder.is_dir() else set()
    return {one for one in found if not any(fnmatch.fnmatchcase(one, each) for each in OTHERS)}


def _mine(path: Path) -> bool:
    try:
        return path.lstat().st_uid == os.getuid()
    except FileNotFoundError:  # it has gone meanwhile
        return False


def files_in_use() -> set[str]:
    """What other living processes have open or mapped, and its folders: programs beside the tests may have some too."""
    used = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):  # it ended meanwhile
            used |= {os.readlink(one) for one in (entry / "fd").iterdir()}
            used |= {line.split(maxsplit=5)[-1] for line in (entry / "maps").read_text().splitlines()}
    return used | {str(folder) for one in used if one.startswith("/") for folder in Path(one).parents}
