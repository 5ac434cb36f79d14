"""Remedies for PyTorch's own defects: which releases have them, and that nothing is changed unasked."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from toolkit.job import ROOT

from jitc.client_shim import known_fixes

#: Releases whose sources were read, and whether they have the defect.
READ = {"2.11.0": True}


@pytest.fixture
def group() -> Any:
    module = pytest.importorskip("torch.distributed.fsdp._fully_shard._fsdp_param_group")
    return module.FSDPParamGroup


def test_the_source_says_which_releases_are_affected(group: Any) -> None:
    release = torch.__version__.split("+")[0]
    assert known_fixes.affected(group) == READ.get(release, known_fixes.affected(group)), release


def test_another_fsdp2_is_left_alone() -> None:
    assert not known_fixes.affected(None)
    assert not known_fixes.affected(SimpleNamespace(finalize_backward=len))


def test_the_wait_comes_first() -> None:
    calls: list[Any] = []

    class Group:
        device_handle = SimpleNamespace(current_stream=lambda: SimpleNamespace(wait_event=calls.append))
        _all_gather_result: Any = SimpleNamespace(all_gather_event="gathered")

        def finalize_backward(self) -> None:
            calls.append("finalized")

    group = Group()
    known_fixes._waiting(Group.finalize_backward)(group)
    assert calls == ["gathered", "finalized"]
    for result in (None, SimpleNamespace(all_gather_event=None)):
        group._all_gather_result, calls[:] = result, []
        known_fixes._waiting(Group.finalize_backward)(group)
        assert calls == ["finalized"]


LOOK = """
from jitc.client_shim import known_fixes
known_fixes.apply_if_asked()
import torch.distributed.fsdp._fully_shard._fsdp_param_group as module
print(module.FSDPParamGroup.finalize_backward.__module__ == known_fixes.__name__)
"""


@pytest.mark.sampled
@pytest.mark.parametrize("asked", ["1", "0", None])
def test_only_on_request(asked: str | None, group: Any) -> None:
    env = {name: value for name, value in os.environ.items() if name != known_fixes.VARIABLE}
    env |= {known_fixes.VARIABLE: asked} if asked else {}
    done = subprocess.run([sys.executable, "-c", LOOK], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(asked == "1" and known_fixes.affected(group))]


REMIND = """
import torch
from jitc.client_shim import known_fixes
known_fixes.apply_if_asked()
known_fixes.remind_at_end()
known_fixes.remind()
torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
from torch.distributed.fsdp import fully_shard
def train():
    mesh = torch.distributed.init_device_mesh("cpu", (1,))
    for _ in range(SHARDED):
        fully_shard(torch.nn.Linear(4, 4), mesh=mesh)
train()
torch.distributed.destroy_process_group()
"""


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("sharded", "environment", "lines"),
    [(2, {}, 1), (2, {"RANK": "1"}, 0), (2, {known_fixes.VARIABLE: "1"}, 0), (0, {}, 0)],
)
def test_a_program_that_shards_is_told_once(sharded: int, environment: dict[str, str], lines: int, group: Any) -> None:
    """It has no optimizer here, shards after it was looked at first, and keeps nothing of what it has sharded."""
    env = {name: value for name, value in os.environ.items() if name not in (known_fixes.VARIABLE, "RANK")}
    command = [sys.executable, "-c", REMIND.replace("SHARDED", str(sharded))]
    done = subprocess.run(command, cwd=ROOT, env=env | environment, capture_output=True, text=True, check=True)
    expected = lines if known_fixes.affected(group) else 0
    assert done.stderr.count("`jitc run --known-fixes`, or JITC_KNOWN_FIXES=1") == expected, done.stderr
