"""A worker process for test_memory_budget.py: its program takes memory; the test kills it.

Started as: python budget_child.py REQUEST_JSON LIMIT. Writes one byte to stdout when the memory is taken.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # the toolkit

from executor_rig import BASE, MIB, Client, make_executor


def main() -> None:
    request, limit = json.loads(sys.argv[1]), int(sys.argv[2])
    executor = make_executor(memory_limit=limit)
    executor.open_session(request)
    client = Client(executor)
    client.attach()
    assert client.call("allocate", BASE, 16 * MIB).status == 0
    assert client.call("allocate", BASE + 16 * MIB, 40 * MIB).status == 0
    client.op("free", BASE)
    client.op("fill", BASE + 16 * MIB, 4096, 7, 1)
    client.drain()
    os.write(1, b".")
    client.wait(lambda: False, seconds=60)  # the test kills it


if __name__ == "__main__":
    main()
