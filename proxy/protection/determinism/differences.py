"""Results that differed in a replay: their sum, and as a text.

Called by: validations and recoveries (their documents), the jitc command (its text about these). Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def together(seen: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Adds up the differences that several sessions have counted."""
    found = list(seen)
    return {
        "results": sum(int(one["results"]) for one in found),
        "largest": max((float(one["largest"]) for one in found), default=0.0),
    }


def differences_text(seen: dict[str, Any]) -> str:
    """Returns a text about the results that differ between program and replay; empty if there are none."""
    if not seen.get("results"):
        return ""
    tolerated = f" ({seen['bound']:.1g} is tolerated)" if "bound" in seen else ""
    return (
        f"results that came out otherwise: {seen['results']}, by up to {seen['largest']:.1g} of their size{tolerated}"
    )
