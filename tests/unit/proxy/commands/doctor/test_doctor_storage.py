"""The checks of `jitc doctor` about disks and folders: full, not writable, another user's, too long a path."""

from __future__ import annotations

from pathlib import Path

from doctor_rig import NOBODY, as_root, elsewhere, needs_mounts

from jitc.proxy.commands.doctor import storage
from jitc.proxy.commands.doctor.check import BAD, GOOD, UNKNOWN
from jitc.proxy.keeper.claim.socket_lock import PATH_LIMIT

GIB = 1 << 30


def mounted(folder: Path, more: str = "true") -> tuple[str, ...]:
    """Words before a command for which a small disk is mounted on a folder."""
    return "unshare", "-m", "sh", "-c", f'mount -t tmpfs -o size=1m none {folder} && {more} && exec "$@"', "sh"


def test_a_folder_for_journals(tmp_path: Path) -> None:
    assert storage.of_spill(str(tmp_path), 1).verdict == GOOD
    found = storage.of_spill(str(tmp_path), 1 << 60)
    assert found.verdict == UNKNOWN and "if a program needs it" in found.says and "--spill-limit" in found.remedy
    found = storage.of_spill(str(tmp_path / "none"), 1)
    assert found.verdict == BAD and "--spill-dir" in found.says
    assert not list(tmp_path.iterdir())
    assert "no journal is spilled" in elsewhere("storage", "spill", environment={"JITC_SPILL_LIMIT": "0"}).says
    (tmp_path / "f").write_text("spill-limit = 0")
    found = elsewhere("storage", "spill", environment={"JITC_CONFIG": str(tmp_path / "f")})
    assert "no journal is spilled" in found.says


@needs_mounts
def test_a_full_disk_for_journals(tmp_path: Path) -> None:
    small, full = mounted(tmp_path), mounted(tmp_path, f"(cat /dev/zero > {tmp_path}/full 2>&1 || true)")
    told = {"JITC_SPILL_DIR": str(tmp_path)}
    found = elsewhere("storage", "spill", *small, environment=told)
    assert found.verdict == UNKNOWN and found.says.startswith("1 MiB free for journals")
    found = elsewhere("storage", "spill", *full, environment=told)
    assert found.verdict == BAD and "No space left on device" in found.says


@needs_mounts
def test_a_full_disk_for_images(tmp_path: Path) -> None:
    socket = str(tmp_path / "made" / "later" / "s")
    found = elsewhere("storage", "images", *mounted(tmp_path), socket=socket)
    assert found.verdict == UNKNOWN and f"1 MiB free for kernels' images in {tmp_path};" in found.says
    full = mounted(tmp_path, f"(cat /dev/zero > {tmp_path}/full 2>&1 || true)")
    assert elsewhere("storage", "images", *full, socket=socket).verdict == BAD


def test_a_cache_of_native_parts(tmp_path: Path) -> None:
    found = elsewhere("storage", "native parts", environment={"JITC_CACHE": str(tmp_path / "cache")})
    assert found.verdict == GOOD and "will be" in found.says and not list(tmp_path.iterdir())
    (tmp_path / "open" / "parts").mkdir(parents=True)
    (tmp_path / "open" / "parts").chmod(0o777)
    found = elsewhere("storage", "native parts", environment={"JITC_CACHE": str(tmp_path / "open")})
    assert found.verdict == BAD and "others may write it" in found.says and "JITC_CACHE" in found.remedy
    (tmp_path / "file").touch()
    found = elsewhere("storage", "native parts", environment={"JITC_CACHE": str(tmp_path / "file")})
    assert found.verdict == BAD and "is no folder" in found.says


@as_root
def test_a_cache_that_cannot_be_written_to() -> None:
    """This user's home is root's."""
    found = elsewhere("storage", "native parts", user=NOBODY, environment={"JITC_CACHE": "/proc/jitc"})
    assert found.verdict == BAD and "cannot be written to" in found.says


def test_temporary_folders(tmp_path: Path) -> None:
    assert elsewhere("storage", "temporary", environment={"TMPDIR": "/tmp"}).verdict == GOOD
    long = tmp_path / ("x" * PATH_LIMIT)
    long.mkdir()
    found = elsewhere("storage", "temporary", environment={"TMPDIR": str(long)})
    assert found.verdict == BAD and f"of at most {PATH_LIMIT}" in found.says and "TMPDIR" in found.remedy
    assert not list(long.iterdir())
