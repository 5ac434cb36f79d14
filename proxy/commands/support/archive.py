"""The archive: its table of contents, its bytes, and the file.

Called by: command.py. Promises: the file has the whole archive, or is unchanged; nothing else is left in its folder;
only its user can read it.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile

from ...status.documents import document
from ...status.support import Contents, ContentsFile
from ..options import CommandError
from ..questions.output import STANDARD_OUTPUT, place, to_standard_output
from .part import Part


def contents(parts: list[Part], now: float) -> Part:
    """Returns the table of contents of these parts."""
    files = [
        ContentsFile(
            name=one.name, bytes=len(one.data), sha256=hashlib.sha256(one.data).hexdigest(), missing=one.missing
        )
        for one in parts
    ]
    text = json.dumps(document(Contents(time=now, files=files)), indent=2) + "\n"
    return Part("contents.json", text.encode())


def packed(folder: str, parts: list[Part], now: int) -> bytes:
    """Returns the compressed archive, whose files lie in one folder."""
    out = io.BytesIO()
    with (
        gzip.GzipFile(filename="", fileobj=out, mode="wb", mtime=now) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as archive,
    ):
        for one in parts:
            entry = tarfile.TarInfo(f"{folder}/{one.name}")
            entry.size, entry.mtime, entry.mode = len(one.data), now, 0o600
            archive.addfile(entry, io.BytesIO(one.data))
    return out.getvalue()


def write(path: str, data: bytes, replace: bool) -> None:
    """Writes the file. replace: also over one that is there. Raises CommandError, and OSError if standard output cannot
    be written to."""
    if path == STANDARD_OUTPUT:
        to_standard_output(data)
        return
    try:
        place(path, data, mode=0o600, replace=replace)
    except FileExistsError:
        raise CommandError(f"{path} is there already; run the command again, or name a file with --output") from None
    except OSError as error:
        raise CommandError(
            f"{path} cannot be written: {error.strerror or error}; name a file elsewhere with --output"
        ) from None
