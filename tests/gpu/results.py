"""The results of the check: one JSON document, written anew around every step, and a table for people.

Called by: check.py. Promises: the file is there before the first step, and is replaced as a whole; at any moment it
says of every step what is known of it: a verdict of VERDICTS with its reason. A step that runs is "not run" until it
has ended, so that the file of a check that was killed says where.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from . import table
from .places import without_places

SCHEMA = 2
#: passed; refused, by design and with a word to the user; slow: right, but a goal of its speed is missed; failed; not
#: run: the reason says why.
PASSED, REFUSED, SLOW, FAILED, NOT_RUN = VERDICTS = ("passed", "refused", "slow", "failed", "not run")
NOT_REACHED = "the check ended before it"
RUNNING = "the check was ended while this step ran"
TIME_OVER = "the time of the whole check is over (--minutes, --steps missing)"
#: Different lines of jitc's that the document keeps; the archive has all.
_LINES = 60
_SHORT = 100  # of a reason that many steps have
Step = dict[str, Any]


class Results:
    """What is known so far. path: the file; a folder in which it is named after date and GPU."""

    def __init__(self, place: Path, commit: str, rehearsal: bool, earlier: Mapping[str, Any] | None = None) -> None:
        self._place, self._commit = place, commit
        self._written: Path | None = None
        self.document: dict[str, Any] = {
            "schema": SCHEMA, "date": time.strftime("%Y-%m-%d", time.gmtime()), "gpu": "", "commit": commit,
            "rehearsal": rehearsal, "complete": False, "steps": [], "said": {},
        }  # fmt: skip
        if earlier:
            self.document |= {key: earlier[key] for key in ("date", "gpu", "steps", "said") if key in earlier}

    @property
    def path(self) -> Path:
        if self._place.suffix == ".json":
            return self._place
        return self._place / f"{self.document['date']}-{slug(self.document['gpu'])}.json"

    @property
    def archive(self) -> Path:
        return self.path.with_suffix(".tar.gz")

    def plan(self, names: Iterable[str], wanted: Iterable[str]) -> None:
        """Every step is in the document from the start; those of an earlier run that are not wanted stay."""
        known, wanted = {step["name"]: step for step in self.document["steps"]}, set(wanted)
        self.document["steps"] = []
        for name in names:
            if name in wanted:
                self.add(name, NOT_RUN, NOT_REACHED)
            elif name in known:
                self.document["steps"].append(known[name])
            else:
                self.add(name, NOT_RUN, "not asked for (--steps)")

    def add(
        self, name: str, verdict: str, reason: str = "", seconds: float = 0.0, data: Mapping[str, Any] | None = None
    ) -> None:
        """In the place of what was known of the step."""
        data = dict(data or {})
        step = {"name": name, "verdict": verdict, "reason": reason, "seconds": round(seconds, 1), "data": data}
        step |= {"commit": self._commit}
        steps: list[Step] = self.document["steps"]
        places = [at for at, one in enumerate(steps) if one["name"] == name]
        if places:
            steps[places[0]] = step
        else:
            steps.append(step)
        self.document["gpu"] = data.get("gpu") or self.document["gpu"]

    def step(self, name: str) -> Step:
        return next(step for step in self.document["steps"] if step["name"] == name)

    def note(self, name: str, **data: Any) -> None:
        """More of a step that is known."""
        self.step(name)["data"] |= data

    def said(self, lines: Mapping[str, int]) -> None:
        """Lines of jitc's, and how often."""
        told: dict[str, int] = self.document["said"]
        for line, count in lines.items():
            if line in told or len(told) < _LINES:
                told[line] = told.get(line, 0) + count

    def data(self) -> dict[str, dict[str, Any]]:
        """What the steps so far have found out, by name."""
        return {step["name"]: step["data"] for step in self.document["steps"] if step["data"]}

    def lack(self, needs: Iterable[str]) -> str:
        """Why a step with these needs cannot be run, as an earlier one has found; or nothing."""
        for step in self.document["steps"]:
            for need, why in step["data"].get("lacks", {}).items():
                if need in needs:
                    return f"no {need}: {why[:_SHORT]} (found by the step {step['name']})"
        return ""

    def write(self, complete: bool = False) -> None:
        self.document["complete"] = complete
        path = self.path
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        part.write_bytes(without_places(json.dumps(self.document, indent=1).encode() + b"\n"))
        os.replace(part, path)
        if self._written and self._written != path:  # the GPU's name is known now
            self._written.unlink(missing_ok=True)
            self._written.with_suffix(".tar.gz").unlink(missing_ok=True)
        self._written = path

    def good(self, names: Iterable[str]) -> bool:
        """Whether all of these were run to their end, and did what they should. A rehearsal may have steps that say of
        themselves that they need a GPU."""
        steps = {step["name"]: step for step in self.document["steps"]}
        return all(name in steps and self._good(steps[name]) for name in names)

    def _good(self, step: Step) -> bool:
        if step["verdict"] in (PASSED, REFUSED):
            return True
        reached = not step["reason"].startswith((NOT_REACHED, RUNNING, TIME_OVER))
        return bool(self.document["rehearsal"]) and step["verdict"] == NOT_RUN and reached

    def text(self) -> str:
        return table.text(self.document)


def slug(name: str) -> str:
    """A file name's part: "NVIDIA H200" is nvidia-h200."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "unknown"


def read(path: Path) -> dict[str, Any]:
    """An earlier file. Raises ValueError where it is none of ours."""
    document: dict[str, Any] = json.loads(path.read_text())
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise ValueError(f"{path} is no results file of this check (schema {SCHEMA})")
    return document


def newest(folder: Path) -> Path | None:
    """The results file that was written last in the folder."""
    return max(folder.glob("*.json"), key=lambda path: path.stat().st_mtime, default=None)
