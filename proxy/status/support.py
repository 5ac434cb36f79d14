"""`jitc support-bundle --json`, and the table of contents of its archive. Called by: commands/support; schema.py and
tables.py."""

from __future__ import annotations

from dataclasses import dataclass

from .model import BYTES, TIME, says

_MISSING = "what of it is missing, and why; the file then has this reason, or the rest; null: nothing"


@dataclass(frozen=True, kw_only=True)
class BundleFile:
    """A file of the archive."""

    name: str = says("in the archive's folder")
    bytes: int = says("its size", BYTES)
    missing: str | None = says(_MISSING)


@dataclass(frozen=True, kw_only=True)
class SupportBundle:
    """The archive that was written."""

    path: str = says("where it is")
    bytes: int = says("its size", BYTES)
    files: list[BundleFile] = says("its files, in their order")


@dataclass(frozen=True, kw_only=True)
class ContentsFile:
    """A file of the archive, in its table of contents."""

    name: str = says("in the archive's folder")
    bytes: int = says("its size", BYTES)
    sha256: str = says("the SHA-256 of its bytes")
    missing: str | None = says(_MISSING)


@dataclass(frozen=True, kw_only=True)
class Contents:
    """The table of contents of an archive, `contents.json`."""

    time: float = says("when it was made", TIME)
    files: list[ContentsFile] = says("all files but this one, in their order")
