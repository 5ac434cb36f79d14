"""One step, in a process of its own: `python -m gpu.step REQUEST ANSWER`, both files of JSON.

Called by: check.py, which ends it at its limit. Promise: the answer's file is replaced as a whole whenever the step
notes something, so that what a step that hangs or crashes had found out is known.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import children
from .lab import Lab, Verdict
from .results import FAILED, PASSED

#: Of a message that is shown in the table and the document.
_LONGEST = 1500


def main(request_file: str, answer_file: str) -> int:
    children.die_with_parent()
    request, answer = json.loads(Path(request_file).read_text()), Path(answer_file)

    def tell(data: dict[str, Any], **outcome: Any) -> None:
        part = answer.with_suffix(".part")
        part.write_text(json.dumps({"data": data, **outcome}, default=str))
        os.replace(part, answer)

    lab = Lab(
        Path(request["folder"]), request["device"], request["options"], seconds=request["seconds"],
        known=request["known"], tell=tell, scratch=Path(request["scratch"]), stand_ins=request["stand_ins"],
    )  # fmt: skip
    verdict, reason = run(lab, request["module"], request["name"])
    lab.close()
    tell(lab.data, verdict=verdict, reason=reason[:_LONGEST], said=dict(lab.said()))
    return 0


def run(lab: Lab, module: str, name: str) -> tuple[str, str]:
    """The step's verdict, and the reason of any but passed. What it has found out is in the lab's data."""
    try:
        step: Callable[[Lab], dict[str, Any]] = getattr(importlib.import_module(module), name)
        lab.note(**step(lab))
    except Verdict as verdict:
        lab.note(**verdict.data)
        return verdict.verdict, str(verdict)
    except Exception as error:  # whatever it was: recorded
        traceback.print_exc()
        where = traceback.extract_tb(error.__traceback__)[-1]
        return FAILED, f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
    return PASSED, ""


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
