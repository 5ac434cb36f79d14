"""One probe: `python -m gpu.preflight NAME`, the request as JSON on standard input, a line of JSON as the answer.

Called by: steps/machine.py, with a time limit. Probes that need other processes start this module for them (parts). A
request to a part goes on line by line, so that two processes can be told what the other one said.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from ..children import die_with_parent
from ..programs import answers
from . import machine, memory, modules, nccl, streams

Probe = Callable[[dict[str, Any]], dict[str, Any]]
#: In this order; and the seconds that each may take. Those that may shake the GPU come last.
PROBES: dict[str, tuple[Probe, float]] = {
    "versions": (machine.versions, 40.0),  # the first one waits until the driver has started
    "system": (machine.system, 5.0),
    "context": (machine.context, 15.0),
    "attributes": (machine.attributes, 8.0),
    "addresses": (memory.addresses, 10.0),
    "mapping": (memory.mapping, 10.0),
    "host_memory": (memory.host_memory, 8.0),
    "stream_words": (streams.stream_words, 8.0),
    "ptx_jit": (modules.ptx_jit, 8.0),
    "variables": (modules.variables, 30.0),
    "nccl_two_processes": (nccl.two_processes, 25.0),
    "killed_process": (memory.killed_process, 12.0),
    "killed_with_host_memory": (memory.killed_with_host_memory, 55.0),
    "killed_busy_process": (memory.killed_busy_process, 20.0),
}
PARTS: dict[str, Probe] = {
    "held_context": machine.held_context, "holder": memory.holder, "rank": nccl.rank,
    "variable_address": modules.variable_address,
}  # fmt: skip


def main(name: str) -> int:
    die_with_parent()
    out = answers()
    request = json.loads(sys.stdin.readline())
    probe = PARTS.get(name) or PROBES[name][0]
    try:
        answer = {"ok": True, "data": probe(request | {"answers": out})}
    except Exception as error:  # what the driver, a library or Python says against it is the answer
        answer = {"ok": False, "error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), file=out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
