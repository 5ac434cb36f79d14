"""The steps of the set-up: what is known of each before it begins, and how its command's output is read.

Called by: progress.py, overview.py. Promises: a reader lets pass what it does not understand, so that an output which
it does not know costs only the bar. Sizes are those of PyTorch 2.11.0 under Python 3.11.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

#: Seconds between two looks at something that grows.
TICK = 0.5
#: Fewer files than this are built before anybody looks.
FEW = 8
MB, GB = 10**6, 10**9


@dataclass(frozen=True)
class Step:
    """What is known of a step before it begins: minutes on two cores, and bytes. Of a long one more is said."""

    title: str
    reader: type[Reader]
    minutes: int
    download: int = 0
    disk: int = 0
    long: bool = False


@dataclass(frozen=True)
class Far:
    """How far a command is. Without a whole it is only known what it does."""

    phase: str = ""
    done: int = 0
    whole: int = 0
    unit: str = ""

    def __str__(self) -> str:
        if not self.unit:
            return f"{self.done} %"
        if self.unit != "bytes":
            return f"{self.done} of {self.whole} {self.unit}"
        if self.whole >= GB:
            return f"{self.done / GB:.1f} of about {self.whole / GB:.1f} GB"
        return f"{self.done / MB:.0f} of about {self.whole / MB:.0f} MB"


class Reader:
    """Reads the output of a kind of command. This one understands nothing, and so knows nothing."""

    def __init__(self, step: Step, venv: Path) -> None:
        self.step, self.venv = step, venv
        self.far = Far()

    def environment(self) -> dict[str, str]:
        """Returns what the command needs besides, so that its output can be read."""
        return {}

    def line(self, text: str) -> bool:
        """Returns whether the line is one for the log."""
        return True

    def look(self) -> Far:
        return self.far

    def end(self) -> None:
        """Removes what the command may have left."""


class Ninja(Reader):
    DONE = re.compile(r"\[(\d+)/(\d+)\]")

    def line(self, text: str) -> bool:
        if (found := self.DONE.match(text)) and int(found[2]) >= FEW:
            self.far = Far("", int(found[1]), int(found[2]), "files")
        return True


class Apt(Reader):
    """Reads the status lines of `-o APT::Status-Fd=1`, which stand between the others."""

    STATUS = re.compile(r"(dl|pm)status:[^:]*:(\d+)[.\d]*:")

    def line(self, text: str) -> bool:
        if not (found := self.STATUS.match(text)):
            return True
        self.far = Far({"dl": "download", "pm": "installation"}[found[1]], int(found[2]), 100)
        return False


class Growth:
    """Counts the bytes that a folder has gained, or those in it with such a name. It looks seldom if that is slow, as
    with tens of thousands of files."""

    REST = 10

    def __init__(self, folder: Path, pattern: str = "") -> None:
        self._folder, self._pattern = folder, pattern
        self._bytes, self._next = 0, 0.0
        self._before = self._size()

    def bytes(self) -> int:
        if time.monotonic() >= self._next:
            self._bytes = max(self._bytes, self._size() - self._before)
        return self._bytes

    def _size(self) -> int:
        began, size = time.monotonic(), 0
        folders = self._folder.glob(self._pattern) if self._pattern else (self._folder,)
        for path, name in ((path, name) for one in folders for path, _, names in os.walk(one) for name in names):
            try:
                size += os.lstat(os.path.join(path, name)).st_size
            except OSError:  # it has been removed meanwhile
                continue
        now = time.monotonic()
        self._next = now + max(TICK, self.REST * (now - began))
        return size


class Folder(Reader):
    """Watches the virtual environment, of a command that says nothing."""

    def __init__(self, step: Step, venv: Path) -> None:
        super().__init__(step, venv)
        self._growth = Growth(venv)

    def look(self) -> Far:
        return Far("", self._growth.bytes(), self.step.disk, "bytes")


class Pip(Reader):
    """Reads from pip's lines what it does, and from files how far it is: pip before 24.1 says nothing of a download
    that goes on, and none says anything while it unpacks some GB."""

    FOLDER = Path("build/pip")

    def __init__(self, step: Step, venv: Path) -> None:
        super().__init__(step, venv)
        self._phase, self._whole = "", 0
        self.end()
        self.FOLDER.mkdir(parents=True)
        self._growth = Growth(self.FOLDER, "pip-unpack-*")  # what goes to pip's cache lies there too, for a while

    def environment(self) -> dict[str, str]:
        """Returns pip's settings, as variables: with these also a pip that does not know one of them works."""
        settings = {"PROGRESS_BAR": "off", "NO_INPUT": "1", "DISABLE_PIP_VERSION_CHECK": "1"}
        return {"TMPDIR": str(self.FOLDER.absolute())} | {f"PIP_{name}": value for name, value in settings.items()}

    def line(self, text: str) -> bool:
        if text.startswith("Installing collected packages:"):
            self._phase, self._whole, self._growth = "installation", self.step.disk, Growth(self.venv)
        elif not self._phase and text.startswith(("Collecting ", "Processing ")):
            self._phase, self._whole = "download", self.step.download
        return True

    def look(self) -> Far:
        return Far(self._phase, self._growth.bytes(), self._whole, "bytes") if self._phase else self.far

    def end(self) -> None:
        shutil.rmtree(self.FOLDER, ignore_errors=True)


STEPS = {
    "system": Step("system packages", Apt, 1, 80 * MB, 310 * MB),
    "venv": Step("virtual environment", Folder, 0, disk=23 * MB),
    "torch": Step("PyTorch", Pip, 3, 2720 * MB, 4840 * MB, long=True),
    "packages": Step("other packages", Pip, 1, 115 * MB, 380 * MB),
    "native": Step("native build", Ninja, 10, disk=960 * MB, long=True),
}
