"""The table of results: a line per step with its figures, then what jitc said.

Called by: results.py, which has the document's form. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_HEAD = ("step", "verdict", "s", "figures")
_LINES, _WIDTH = 12, 200
#: A phase of a recovery that is shown.
_SHOWN_SECONDS = 0.005


def text(document: Mapping[str, Any]) -> str:
    rows = [_HEAD, *(_row(step) for step in document["steps"])]
    widths = [max(len(row[at]) for row in rows) for at in range(3)]
    lines = [
        f"{name:<{widths[0]}}  {verdict:<{widths[1]}}  {seconds:>{widths[2]}}  {figures}".rstrip()
        for name, verdict, seconds, figures in rows
    ]
    said = document["said"]
    lines.append(f"said by jitc: {len(said)} different lines")
    lines += [f"  {count} x {line}" for line, count in sorted(said.items(), key=lambda one: -one[1])[:_LINES]]
    return "\n".join(lines)


def _row(step: Mapping[str, Any]) -> tuple[str, str, str, str]:
    verdict = step["verdict"]
    shown = verdict.upper() if verdict in ("failed", "slow") else verdict
    return step["name"], shown, f"{step['seconds']:.1f}", _figures(step)


def _figures(step: Mapping[str, Any]) -> str:
    data, parts = step["data"], []
    if "passed" in data and "failed" in data:
        parts.append(f"{data['passed']} of {data['passed'] + data['failed']}")
    if "identity" in data:
        parts.append(str(data["identity"]))
    for name, one in data.get("times", {}).items():
        means = one.get("mean")
        native, proxied = (1000 * (means or one["median"])[side] for side in ("native", "proxied"))
        parts.append(f"{name} {native:.1f} -> {proxied:.1f} ms ({one['ratio']:.3f}{', means' * bool(means)})")
    parts += [f"{name} {_number(value)}" for name, value in data.get("figures", {}).items()]
    parts += [recovery(one) for one in data.get("recoveries", [])]
    if step["reason"]:
        parts.append(step["reason"].splitlines()[0][:_WIDTH])
    parts += [f"with {one['variant']}: {one['verdict']}" for one in data.get("variants", [])]
    return "; ".join(parts)


def recovery(one: Mapping[str, Any]) -> str:
    phases = [f"{name} {seconds:.2f}" for name, seconds in one["phases"].items() if seconds >= _SHOWN_SECONDS]
    off = one.get("differences", {})
    numbers = f", numbers off by up to {off['largest']:.1g}" if off.get("results") else ""
    return f"{one['cause']}: {one['outcome']} in {one['seconds']:.2f} s ({', '.join(phases)}){numbers}"


def _number(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
