"""PyTorch on the software device, without service and worker: encoder and decoder in one process.

The checks are in device_checks.py; they need a process in which the stand-in runtime is preloaded.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
from toolkit.stand_in import with_stand_in

PROGRAM = Path(__file__).with_name("device_checks.py")
CHECKS = [
    node.name
    for node in ast.parse(PROGRAM.read_text()).body
    if isinstance(node, ast.FunctionDef) and node.name.startswith("check_")
]


@pytest.fixture(scope="module")
def results() -> dict[str, str | None]:
    done = with_stand_in(str(PROGRAM))
    assert done.returncode == 0, done.stderr[-4000:]
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {line["name"]: line["wrong"] for line in lines}


@pytest.mark.parametrize("name", CHECKS)
def test_check(name: str, results: dict[str, str | None]) -> None:
    assert results[name] is None, results[name]


def test_nothing_is_loaded_before_cuda_is_used() -> None:
    program = "import sys, torch; torch.ones(2).sum(); print('jitc.client_shim.torch_device' in sys.modules)"
    assert with_stand_in("-c", program).stdout.strip() == "False"


def test_nothing_happens_without_the_interposer() -> None:
    program = "import torch, jitc.client_shim as s; s.autoload()\n"
    program += "c = torch.cuda; print(c.is_available(), len(c._queued_calls))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    available, queued = done.stdout.split()
    with_it = with_stand_in("-c", program.replace("; s.autoload()", ""))
    assert available == "False"
    assert int(with_it.stdout.split()[1]) == int(queued) + 1
