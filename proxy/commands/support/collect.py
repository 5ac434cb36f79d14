"""All parts of the archive, in their order.

Called by: command.py. Promises: the order of names is the same each time; a service that does not answer costs seconds,
and none of the parts that do not need it.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import distributions
from typing import Any

from ...common.printable import LINE, printable
from ..options import CommandError
from . import logs, machine, processes
from .part import PART_BYTES, Missing, Part, Partial, collected, output_of

#: Seconds for `jitc doctor`, which asks the service and tries devices.
DOCTOR_SECONDS = 120.0
#: Largest size of the report.
REPORT_BYTES = 50 * 1000 * 1000
_DOCTOR = [sys.executable, "-m", "jitc.proxy.commands.jitc", "doctor", "--json"]
_PACKAGES = re.compile(r"(?:torch|nvidia-.+|grpcio|protobuf|numpy|triton|jitc)")


@dataclass(frozen=True)
class Wanted:
    """The service of which an archive is made, and how much it says."""

    socket: str | None
    no_socket: str  # why there is none
    with_arguments: bool


def collect(wanted: Wanted) -> Iterator[Part]:
    """Returns each part when it has been collected."""
    status = collected("status.json", lambda: _asked(wanted, "Status"))
    yield status
    # A service that has not answered once is not waited for again.
    yield collected("report.json", lambda: _report(wanted, status.missing))
    yield collected("doctor.json", lambda: _doctor(wanted, status))
    yield collected("version.json", _version)
    yield collected("environment.txt", _environment)
    yield collected("packages.txt", _packages)
    yield collected("machine.txt", machine.text)
    own = processes.of_socket(wanted.socket) if wanted.socket is not None else []
    yield collected("processes.txt", lambda: processes.table(own, _programs(status), wanted.with_arguments))
    for one in own:
        yield collected(f"processes/{one.role}-{one.pid}.txt", partial(processes.facts, one))
    yield from logs.parts([one.pid for one in own if one.role == processes.SERVICE], {one.pid for one in own})


# -- documents ------------------------------------------------------------------------------------


def _asked(wanted: Wanted, method: str) -> str:
    """Returns a document of the service."""
    from jitc.v1 import control_pb2

    from ..questions.ask import ask

    if wanted.socket is None:
        raise Missing(wanted.no_socket)
    request = getattr(control_pb2, f"{method}Request")()
    try:
        return _as_text(json.loads(ask(wanted.socket, method, request, waits=False).json))
    except CommandError as error:
        raise Missing(str(error)) from None


def _report(wanted: Wanted, no_service: str | None) -> str | Partial:
    if no_service is not None:
        raise Missing(no_service)
    text = _asked(wanted, "Report")
    return text if len(text) <= REPORT_BYTES else shortened(json.loads(text), REPORT_BYTES)


def shortened(document: dict[str, Any], most: int) -> Partial:
    """Returns the document without the oldest entries of its largest lists; there is something to leave out."""
    left_out: dict[str, int] = {}
    while len(text := _as_text(document)) > most and any(document.values()):
        name = max(document, key=lambda one: len(json.dumps(document[one])))
        count = (len(document[name]) + 1) // 2
        document[name] = document[name][count:]
        left_out[name] = left_out.get(name, 0) + count
    counts = ", ".join(f"{count} of {name}" for name, count in sorted(left_out.items()))
    return Partial(text, f"it had more than {most} bytes, so its oldest entries were left out: {counts}")


def _doctor(wanted: Wanted, status: Part) -> str:
    device = [] if status.missing is not None else ["--device", json.loads(status.data)["gpus"][0]["device"]]
    environment = dict(os.environ) | {"PYTHONSAFEPATH": "1"}  # a folder of that name here must not be taken for jitc
    if wanted.socket is not None:
        environment["JITC_SOCKET"] = wanted.socket
    code, out, error = output_of([*_DOCTOR, *device], DOCTOR_SECONDS, environment)
    if len(out) > PART_BYTES:
        raise Missing(f"jitc doctor has printed {len(out)} bytes")
    try:
        return _as_text(json.loads(out))  # whatever its exit status: it may say that something is wrong
    except ValueError:
        raise Missing(f"jitc doctor has printed no document, exit status {code}: {error or 'no message'}") from None


def _version() -> str:
    from ..installed import version

    try:
        return _as_text(version.document())
    except CommandError as error:
        raise Missing(str(error)) from None


def _as_text(document: Any) -> str:
    return json.dumps(document, indent=2) + "\n"


# -- texts ----------------------------------------------------------------------------------------


def _environment() -> str:
    own = sorted((name, value) for name, value in os.environ.items() if name.startswith("JITC_"))
    lines = [f"{printable(name)}={printable(value, LINE)}\n" for name, value in own]
    return "".join(lines) or "no variable begins with JITC_\n"


def _packages() -> str:
    found = {(re.sub(r"[-_.]+", "-", one.name).lower(), one.version) for one in distributions() if one.name}
    lines = [f"{name} {version}\n" for name, version in sorted(found) if _PACKAGES.fullmatch(name)]
    return "".join(lines) or "none of the packages that jitc works with is installed\n"


def _programs(status: Part) -> list[int] | str:
    """Returns the numbers of the processes that the service serves, or why they are unknown."""
    if status.missing is not None:
        return status.missing
    document = json.loads(status.data)
    return sorted({session["pid"] for gpu in document["gpus"] for session in gpu["sessions"]})
