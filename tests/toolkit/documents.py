"""The JSON documents as docs/cli.md promises them.

Called by: tests of what the service and the commands print. Promise: the examples on that page are the only
description; a key that is missing, or that the page does not have, is found at any depth.
"""

from __future__ import annotations

import json
import re
from typing import Any

from .tree import ROOT


def example(command: str) -> Any:
    """The document below the heading of a command, such as `jitc status --json`."""
    text = (ROOT / "docs" / "cli.md").read_text()
    found = re.search(rf"^### `{re.escape(command)}`\n```json\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert found, f"docs/cli.md has no example of {command}"
    return json.loads(found[1])


def differences(document: Any, promised: Any, path: str = "") -> list[str]:
    """Keys that only one of the two has. Of lists the first entries are compared, where both have one."""
    if isinstance(promised, dict) and isinstance(document, dict):
        found = [f"{path}/{key} is missing" for key in sorted(promised.keys() - document.keys())]
        found += [f"{path}/{key} is not on the page" for key in sorted(document.keys() - promised.keys())]
        for key in sorted(promised.keys() & document.keys()):
            found += differences(document[key], promised[key], f"{path}/{key}")
        return found
    if isinstance(promised, list) and isinstance(document, list) and promised and document:
        return differences(document[0], promised[0], f"{path}[]")
    return []
