"""The releases of PyTorch for which a wheel brings native parts, and what is needed of each to build one: its headers.

Called by: make.py, and by hand: `releases.py FOLDER [RELEASE ...]` fetches headers. Promise: of a wheel of 0.9 GB only
the 10 MB with headers are read, where the index serves ranges of files; else the whole file is.
"""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

#: All of which `pip install torch` gives the CUDA build, from the oldest that is supported to the newest.
RELEASES = (
    "2.6.0", "2.7.0", "2.7.1", "2.8.0", "2.9.0", "2.9.1", "2.10.0", "2.11.0", "2.12.0", "2.12.1", "2.13.0",
    "2.14.0", "2.14.1", "2.15.0",
)  # fmt: skip
#: Parts that serve all of them: a release has that of another one if all headers that a part includes are the same.
PARTS = 11
_BLOCK = 1 << 20
_SECONDS = 60
_WANTED = re.compile(r"torch/(include/|version\.py$|share/cmake/Torch/TorchConfig\.cmake$)")
_MADE = "made"


def headers(release: str, folder: Path) -> Path:
    """Returns the folder of a torch package that has headers alone, and beside it those of its CUDA runtime. Fetches
    both unless they are there. Raises OSError."""
    place = folder / release
    if not (place / _MADE).exists():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        _unpack(_wheel(f"torch==={release}"), _WANTED, place)
        _unpack_runtime((place / "torch" / "version.py").read_text(), place)
        (place / _MADE).touch()
    return place / "torch"


def _unpack(wheel: zipfile.ZipFile, wanted: re.Pattern[str], place: Path) -> None:
    for one in wheel.infolist():
        if wanted.match(one.filename) and not one.is_dir():
            wheel.extract(one, place)


def _unpack_runtime(version: str, place: Path) -> None:
    """The runtime's headers come in a package of their own, which PyTorch's wheels ask for."""
    found = re.search(r"^cuda.*'(\d+)\.(\d+)'", version, re.MULTILINE)
    if found is None:
        raise OSError("this PyTorch was built without CUDA")
    major, minor = found.groups()
    name = "nvidia-cuda-runtime" + ("-cu12" if major == "12" else "")
    _unpack(_wheel(f"{name}=={major}.{minor}.*"), re.compile("nvidia/[^/]+/include/"), place)


def _wheel(requirement: str) -> zipfile.ZipFile:
    command = [
        sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--dry-run", "--no-deps",
        "--ignore-installed", "--only-binary=:all:", "--report", "-", requirement,
    ]  # fmt: skip
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"pip finds no {requirement}: {' '.join(done.stderr.split())[-500:]}")
    url = json.loads(done.stdout)["install"][0]["download_info"]["url"]
    try:
        return zipfile.ZipFile(_Ranges(url))
    except urllib.error.HTTPError:
        whole = tempfile.TemporaryFile()  # noqa: SIM115  # the archive keeps it open
        with urllib.request.urlopen(url, timeout=_SECONDS) as answer:
            shutil.copyfileobj(answer, whole)
        return zipfile.ZipFile(whole)


class _Ranges(io.RawIOBase):
    """A file on a web server, of which only the blocks are fetched that are read."""

    def __init__(self, url: str) -> None:
        self._url, self._at = url, 0
        self._blocks: dict[int, bytes] = {}
        self._size = self._ask(0)[1]

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        end = self._size if size < 0 else min(self._at + size, self._size)
        pieces = []
        while self._at < end:
            block, offset = divmod(self._at, _BLOCK)
            if block not in self._blocks:
                self._blocks[block] = self._ask(block * _BLOCK)[0]
            pieces.append(self._blocks[block][offset : offset + end - self._at])
            self._at += len(pieces[-1])
        return b"".join(pieces)

    def _ask(self, begin: int) -> tuple[bytes, int]:
        """Returns the block that begins there, and the size of the whole file. Raises urllib.error.HTTPError."""
        request = urllib.request.Request(self._url, headers={"Range": f"bytes={begin}-{begin + _BLOCK - 1}"})
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
            said = answer.headers.get("Content-Range", "")
            if answer.status != 206 or "/" not in said:
                raise urllib.error.HTTPError(self._url, answer.status, "no ranges", answer.headers, None)
            return answer.read(), int(said.rpartition("/")[2])


if __name__ == "__main__":
    for one in sys.argv[2:] or RELEASES:
        print(headers(one, Path(sys.argv[1])), flush=True)
