"""All that the processes of the check said: a folder per step while it runs, one archive beside the results.

Called by: check.py; lab.py and service.py put files into the folder of their step. Promises: the archive is replaced as
a whole after every step, is never larger than LIMIT, and says in each file that was cut where, and how much is missing.
Neither it nor the results say where on the machine the check and its Python lay.
"""

from __future__ import annotations

import io
import os
import shutil
import tarfile
import tempfile
from pathlib import Path

from .places import without_places

#: Of the archive: what a borrowed machine brings back of one file is 16 MiB.
LIMIT = 15 << 20
#: A file up to this is kept whole; of a longer one its head and its tail.
WHOLE = 256 << 10
_LEAST = 4 << 10


class Evidence:
    """Files by step. Ends with close(), which keeps the archive only."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="jitc-gpu-"))

    def step(self, name: str, variant: str = "") -> Path:
        """The step's folder, or that of its variant, empty: what an earlier run of it left is of no use any more."""
        folder = self._folder / name / variant
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def take_over(self, archive: Path) -> None:
        """What an earlier run of the check packed; nothing where that cannot be read."""
        try:
            with tarfile.open(archive) as earlier:
                for member in earlier.getmembers():
                    parts = Path(member.name).parts
                    content = earlier.extractfile(member) if member.isfile() and ".." not in parts else None
                    if content is None or Path(member.name).is_absolute():
                        continue
                    to = self._folder / member.name
                    to.parent.mkdir(parents=True, exist_ok=True)
                    to.write_bytes(content.read())
        except (OSError, tarfile.TarError):
            return

    def pack(self, archive: Path) -> None:
        """Writes the archive anew; where it would be too large, with less of each file."""
        whole = WHOLE
        while len(data := self._packed(whole)) > LIMIT and whole > _LEAST:
            whole //= 2
        part = archive.with_name(archive.name + ".part")
        part.write_bytes(data)
        os.replace(part, archive)

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def _packed(self, whole: int) -> bytes:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w:gz") as archive:
            for path in sorted(self._folder.rglob("*")):
                if not path.is_file() or not path.stat().st_size:
                    continue
                content = without_places(shortened(path, whole))
                entry = tarfile.TarInfo(str(path.relative_to(self._folder)))
                entry.size, entry.mtime = len(content), int(path.stat().st_mtime)
                archive.addfile(entry, io.BytesIO(content))
        return out.getvalue()


def shortened(path: Path, whole: int) -> bytes:
    """The file's content; its head and tail where it is longer than that."""
    with path.open("rb") as source:
        size = os.fstat(source.fileno()).st_size
        if size <= whole:
            return source.read()
        head = source.read(whole // 2)
        source.seek(-(whole // 2), os.SEEK_END)
        return head + f"\n... {size - whole // 2 * 2} bytes left out ...\n".encode() + source.read()
