"""The kinds of option values: each gives its placeholder and its allowed values, in words.

Called by: `table.py`, `generator.py`, and the commands, which parse them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

MIB, GIB, TIB = 1 << 20, 1 << 30, 1 << 40


def size_text(value: int) -> str:
    """Formats bytes as an option's value, in the largest unit that divides them."""
    for unit, name in ((TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (1 << 10, "KiB")):
        if value and value % unit == 0:
            return f"{value // unit}{name}"
    return f"{value}B"


@dataclass(frozen=True)
class Number:
    """A whole number."""

    least: int
    most: int
    metavar: str = "N"

    @property
    def allowed(self) -> str:
        return f"{self.least} to {self.most}"


@dataclass(frozen=True)
class Seconds:
    """Seconds; `zero`: what 0 means, which may be below the least."""

    metavar: ClassVar[str] = "S"
    least: float
    most: float
    zero: str

    @property
    def allowed(self) -> str:
        return f"{self.least:g} to {self.most:.0f}, or 0: {self.zero}"


@dataclass(frozen=True)
class Percent:
    """A percentage of a job's time. In the configuration a share (0.01 for 1). `zero`: what 0 means; empty: refused."""

    metavar: ClassVar[str] = "PERCENT"
    zero: str
    least: float = 0.0
    most: float = 50.0

    @property
    def allowed(self) -> str:
        return f"{self.least:g}{f' ({self.zero})' if self.zero else ''} to {self.most:g}"


@dataclass(frozen=True)
class Size:
    """Bytes; `zero`: what 0 means, if it is allowed. In whole `unit`s."""

    metavar: ClassVar[str] = "SIZE"
    least: int
    most: int
    zero: str = ""
    unit: int = 1

    @property
    def allowed(self) -> str:
        return f"{size_text(self.least)} to {size_text(self.most)}" + (f", or 0: {self.zero}" if self.zero else "")

    def clamp(self, value: int) -> int:
        return max(self.least, min(self.most, value))


@dataclass(frozen=True)
class Choice:
    """One of these words."""

    metavar: ClassVar[str] = ""
    words: tuple[str, ...]

    @property
    def allowed(self) -> str:
        return ", ".join(f"`{one}`" for one in self.words)


@dataclass(frozen=True)
class Flag:
    """A flag that is given or not."""

    metavar: ClassVar[str] = ""
    allowed: ClassVar[str] = ""


@dataclass(frozen=True)
class Folder:
    """A folder that can be written to."""

    metavar: ClassVar[str] = "DIR"
    allowed: ClassVar[str] = "a folder that can be written to"


@dataclass(frozen=True)
class File:
    """An existing file. In the configuration it is an entry of a dictionary, under the option's name."""

    metavar: ClassVar[str] = "PATH"
    allowed: ClassVar[str] = "a file"


Values = Number | Seconds | Percent | Size | Choice | Flag | Folder | File
