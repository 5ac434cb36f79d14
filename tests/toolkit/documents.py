"""The JSON documents as docs/cli.md and the JSON Schema files promise them.

Called by: tests of what the service and the commands print. Promises: a key that is missing, or that the page's example
does not have, is found at any depth; a document that its schema refuses is found, with the place.
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


def refusals(document: Any, command: str) -> list[str]:
    """Why the schema of `jitc COMMAND --json` refuses the document, each reason with its place."""
    from jsonschema import Draft202012Validator  # not where tests run on a bare machine

    schema = json.loads((ROOT / "proxy" / "status" / f"generated_{command}.schema.json").read_text())
    return [f"{one.json_path}: {one.message}" for one in Draft202012Validator(schema).iter_errors(document)]


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
