"""Parts of the archive: the content of each, or why it is missing.

Called by: the modules beside it. Promise: whatever happens while a part is collected, there is a part with a text.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from ..bounded import finished

#: Largest size of a part that has no other one.
PART_BYTES = 4 << 20


class Missing(Exception):
    """A part cannot be had; the text says why."""


@dataclass(frozen=True)
class Part:
    """A file of the archive."""

    name: str
    data: bytes
    missing: str | None = None  # the reason why it, or the rest of it, is missing


@dataclass(frozen=True)
class Partial:
    """Text of which something is missing."""

    text: str
    missing: str


def collected(name: str, make: Callable[[], str | Partial]) -> Part:
    """Returns the part with the text that `make` returns, otherwise one that says why there is none."""
    try:
        made = make()
    except Missing as error:
        return missing(name, str(error))
    except Exception as error:  # a defect or a strange machine must not cost the other parts
        return missing(name, f"{type(error).__name__}: {error}")
    found = made if isinstance(made, Partial) else Partial(made, "")
    data = found.text.encode("utf-8", "backslashreplace")
    return Part(name, data, found.missing or None)


def missing(name: str, why: str) -> Part:
    """Returns a part that is a text of its own kind: a document is one in its absence too."""
    why = " ".join(why.split())
    text = json.dumps({"missing": why}, indent=2) if name.endswith(".json") else f"not collected: {why}"
    return Part(name, f"{text}\n".encode("utf-8", "backslashreplace"), why)


def end_of(data: bytes, most: int) -> str | Partial:
    """Returns the last bytes of a text, from the beginning of a line on."""
    if len(data) <= most:
        return data.decode("utf-8", "backslashreplace")
    last = data[-most:]
    last = last[last.find(b"\n") + 1 :]
    return Partial(last.decode("utf-8", "backslashreplace"), f"only its last {len(last)} of {len(data)} bytes are here")


def output_of(command: list[str], seconds: float, environment: dict[str, str] | None = None) -> tuple[int, bytes, str]:
    """Runs a command. Returns its exit status, its output and the last line of its errors. Raises Missing if it cannot
    be run, or takes too long; it is killed then, with its children."""
    try:
        done = finished(command, seconds, environment=environment)
    except OSError as error:
        raise Missing(f"{command[0]} cannot be run: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise Missing(f"{os.path.basename(command[0])} has not ended within {seconds:g} s") from None
    lines = done.stderr.decode("utf-8", "backslashreplace").strip().splitlines()
    return done.returncode, done.stdout, lines[-1] if lines else ""
