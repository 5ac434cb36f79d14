"""Results that came out otherwise in a replay: counted together, and as a text.

Called by: validations and recoveries (their documents), the jitc command (what it says of these). Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def together(seen: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The differences that several sessions have counted, as one."""
    found = list(seen)
    return {
        "results": sum(int(one["results"]) for one in found),
        "largest": max((float(one["largest"]) for one in found), default=0.0),
    }


def differences_text(seen: dict[str, Any]) -> str:
    """The results that differ between program and replay, as a text; empty when there are none."""
    if not seen.get("results"):
        return ""
    tolerated = f" ({seen['bound']:.1g} is tolerated)" if "bound" in seen else ""
    return (
        f"results that came out otherwise: {seen['results']}, by up to {seen['largest']:.1g} of their size{tolerated}"
    )
