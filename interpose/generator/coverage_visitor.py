"""Turns the API tables into ``docs/coverage.md``.

Called by ``jitc.interpose.generator``. Promise: every exported function is in it, with its policy.
"""

from __future__ import annotations

from jitc.interpose.generator.wrappers_visitor import APIS, refused, served
from jitc.interpose.spec.api import Api

_HEAD = """\
# Coverage

Generated from `interpose/spec` by `python -m jitc.interpose.generator`; do not edit.

Every function that `libjitc_interpose.so` exports, by what a call means to record and replay:
**Op** goes into the stream of device ops and does not wait; **Sync** waits for an answer of the
device; **Local** is answered in the process; **Custom** decides by its arguments; **Unsupported**
returns the API's own not-supported error and says once what to do instead.
"""


def document() -> str:
    """The text of ``docs/coverage.md``."""
    return "\n".join([_HEAD, *_summary(), *(line for api in APIS for line in _api(api))]) + "\n"


def _summary() -> list[str]:
    policies = ("Op", "Sync", "Local", "Custom", "Unsupported")
    lines = ["| API | replaces | " + " | ".join(policies) + " |", "|---|---|" + "---:|" * len(policies)]
    for api in APIS:
        counts = [sum(f.policy == policy for f in api.functions) for policy in policies]
        lines.append(f"| {api.title} | `{api.library}` | " + " | ".join(map(str, counts)) + " |")
    return [*lines, ""]


def _api(api: Api) -> list[str]:
    lines = [f"## {api.title}", "", "| function | policy | device ops | remarks |", "|---|---|---|---|"]
    lines += [f"| `{f.name}` | {f.policy} | {', '.join(f.ops)} | {f.note} |" for f in served(api)]
    lines += ["", f"### Refused by {api.title}", ""]
    for advice in sorted({f.note for f in refused(api)}):
        names = ", ".join(f"`{f.name}`" for f in refused(api) if f.note == advice)
        lines += [f"- {advice}: {names}"]
    return [*lines, ""]
