"""The results of a check on a GPU: one JSON document, written anew after every step, and a short table.

Called by: scripts/gpu_check.py. Promises: a step that failed is in it with its reason and what is known anyway;
what was written is complete after every step, so that a run that is cut short still tells.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SCHEMA = 1


class Results:
    """What is known so far."""

    def __init__(self, path: Path | None, folder: Path, rehearsal: bool, commit: str) -> None:
        self._path, self._folder = path, folder
        self.document: dict[str, Any] = {
            "schema": SCHEMA, "date": time.strftime("%Y-%m-%d", time.gmtime()), "gpu": "", "commit": commit,
            "rehearsal": rehearsal, "complete": False, "steps": [], "refused": {},
        }  # fmt: skip

    @property
    def path(self) -> Path:
        """<date>-<gpu>.json, once the GPU is known."""
        return self._path or self._folder / f"{self.document['date']}-{slug(self.document['gpu'])}.json"

    def add(self, name: str, seconds: float, error: str, data: Mapping[str, Any], skipped: str = "") -> None:
        """skipped: why there was nothing to check, which is no failure."""
        step = {"name": name, "ok": not error, "seconds": round(seconds, 1), "error": error, "data": dict(data)}
        step |= {"skipped": skipped} if skipped else {}
        self.document["steps"].append(step)
        gpus = data.get("jitc", {}).get("gpus", []) if name == "environment" else []
        if gpus:
            self.document["gpu"] = gpus[0]["name"]

    def write(self, refused: Mapping[str, int], complete: bool = False) -> None:
        self.document |= {"refused": dict(refused), "complete": complete}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(self.document, indent=1) + "\n")
        os.replace(part, self.path)

    def passed(self) -> bool:
        return bool(self.document["complete"]) and all(step["ok"] for step in self.document["steps"])


def slug(name: str) -> str:
    """A file name's part: "NVIDIA H200" is nvidia-h200."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "unknown"


def table(document: Mapping[str, Any]) -> str:
    """A line per step, then what was refused."""
    rows = [(step["name"], _verdict(step), f"{step['seconds']:.1f}", _figures(step)) for step in document["steps"]]
    widths = [max(len(row[at]) for row in [("step", "result", "s", ""), *rows]) for at in range(3)]
    lines = []
    for name, verdict, seconds, figures in [("step", "result", "s", "figures"), *rows]:
        lines.append(f"{name:<{widths[0]}}  {verdict:<{widths[1]}}  {seconds:>{widths[2]}}  {figures}".rstrip())
    refused = document["refused"]
    lines.append(f"said by jitc: {len(refused)} different lines")
    lines += [f"  {count} x {line}" for line, count in sorted(refused.items(), key=lambda one: -one[1])[:12]]
    return "\n".join(lines)


def _verdict(step: Mapping[str, Any]) -> str:
    return "FAILED" if not step["ok"] else "skipped" if "skipped" in step else "passed"


def _figures(step: Mapping[str, Any]) -> str:
    data, parts = step["data"], []
    if "passed" in data:
        parts.append(f"{data['passed']} of {data['passed'] + data['failed']}")
    if "losses_identical" in data:
        same = data["losses_identical"] and data["state_identical"]
        parts.append("identical to the last bit" if same else "losses or state DIFFER")
    for name, one in data.get("times", {}).items():
        native, proxied = one["median"]["native"] * 1000, one["median"]["proxied"] * 1000
        parts.append(f"{name} {native:.1f} -> {proxied:.1f} ms ({one['ratio']:.3f})")
    for one in data.get("recoveries", []):
        phases = ", ".join(f"{name} {seconds:.2f}" for name, seconds in one["phases"].items() if seconds >= 0.005)
        parts.append(f"{one['cause']}: {one['outcome']} in {one['seconds']:.2f} s ({phases})")
    if said := step["error"] or step.get("skipped"):
        parts.append(said.splitlines()[0][:160])
    return "; ".join(parts)
