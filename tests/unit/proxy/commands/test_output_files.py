"""Files that `jitc report` writes: whole or as before, one line about what went wrong."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from jitc.proxy.commands.options import CommandError
from jitc.proxy.commands.questions.output import write


def names(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


def test_a_new_file_has_usual_permissions(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        write(str(tmp_path / "report.html"), "text \ud800")
    finally:
        os.umask(mask)
    assert (tmp_path / "report.html").read_text() == "text \\ud800"
    assert stat.S_IMODE((tmp_path / "report.html").stat().st_mode) == 0o640
    assert names(tmp_path) == ["report.html"]


def test_a_file_keeps_its_permissions_and_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "real").chmod(0o604)
    (tmp_path / "link").symlink_to("real")
    write(str(tmp_path / "link"), "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o604


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "report.html").write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CommandError, match=r"report\.html cannot be written: No space left on device$"):
        write(str(tmp_path / "report.html"), "new")
    assert (tmp_path / "report.html").read_text() == "old"
    assert names(tmp_path) == ["report.html"]


def test_a_device_is_written_to_as_it_is() -> None:
    with pytest.raises(CommandError, match="/dev/full cannot be written: No space left on device"):
        write("/dev/full", "new")
    write("/dev/null", "new")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_folder_that_has_gone(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot be written: No such file or directory"):
        write(str(tmp_path / "none" / "report.html"), "new")
