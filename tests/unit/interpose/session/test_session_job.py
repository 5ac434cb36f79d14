"""The name of a job, and what tells it apart from another one that is called the same."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import pytest
from standin_node import Node
from toolkit.sandbox import pid_namespace

Start = Callable[..., Any]
KUBERNETES = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
TORCHRUN = {"RANK": "0", "WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "run7", "MASTER_ADDR": "h", "MASTER_PORT": "29500"}
SLURM = {"SLURM_JOB_ID": "4711", "SLURM_JOB_NAME": "llama", "SLURM_STEP_ID": "0", "SLURM_PROCID": "1"}
OPEN = "Session(0)"


@pytest.mark.parametrize(
    ("environment", "job"),
    [
        ({"JITC_JOB": "mine"} | SLURM | KUBERNETES | TORCHRUN, "mine"),
        (SLURM | KUBERNETES | TORCHRUN, "llama-4711"),
        ({"SLURM_JOB_ID": "4711"}, "slurm-4711"),
        (KUBERNETES | TORCHRUN | {"HOSTNAME": "train-worker-3"}, "train"),
        (KUBERNETES | {"HOSTNAME": "train-master-0"}, "train"),
        (KUBERNETES | {"HOSTNAME": "llama-3-x7k2p"}, "llama"),
        (KUBERNETES | {"HOSTNAME": "llama-x7k2p"}, "llama"),
        (KUBERNETES | {"HOSTNAME": "llama-12"}, "llama"),
        (KUBERNETES | {"HOSTNAME": "my-worker-x7k2p"}, "my-worker"),
        (KUBERNETES | {"HOSTNAME": "trainer"}, "trainer"),
        (KUBERNETES | {"HOSTNAME": "-0"}, "-0"),
        (KUBERNETES | {"HOSTNAME": "worker-0"}, "worker"),
        (TORCHRUN, "run7"),
        (TORCHRUN | {"TORCHELASTIC_RUN_ID": "none"}, "h:29500"),
        ({"JITC_JOB": "n\u00e4me\udcff"}, r"n\xc3\xa4me\xff"),
    ],
)
def test_its_name(node: Node, client: Start, environment: dict[str, str], job: str) -> None:
    client(OPEN, **environment).finish()
    assert [one.job for one in node.attached] == [job]


def launches(node: Node) -> list[str]:
    found = [one.launch for one in node.attached]
    assert all(found)
    return found


def test_ranks_of_a_launcher_and_their_next_attempt_are_one_launch(node: Node, client: Start) -> None:
    for rank in "010":
        client(OPEN, **TORCHRUN | {"RANK": rank}).finish()
    first, second, again = launches(node)
    assert first == second == again
    assert first.startswith(f"{os.getpid()}."), "the test is the launcher"


def test_wrappers_of_a_rank_are_no_launchers(node: Node, client: Start, prelude: str) -> None:
    nested = f"""
import os, subprocess
subprocess.run(["sh", "-c", {sys.executable!r} + ' -c "$0"; true', {prelude + OPEN!r}], check=True)
"""
    client(nested, **TORCHRUN).finish()
    client(OPEN, **TORCHRUN).finish()
    wrapped, direct = launches(node)
    assert wrapped == direct


def test_programs_without_ranks_are_launches_of_their_own(node: Node, client: Start) -> None:
    environments: list[dict[str, str]] = [
        {"JITC_JOB": "x"}, {"JITC_JOB": "x"}, {"SLURM_JOB_ID": "1", "SLURM_PROCID": "0", "SLURM_NTASKS": "1"},
    ]  # fmt: skip
    started = [client(OPEN, **one) for one in environments]
    for one in started:
        one.finish()
    found = launches(node)
    own = {str(one.process.pid) for one in started}
    assert {one.split(" ")[-1].partition(".")[0] for one in found} == own


def test_jobs_of_a_scheduler(node: Node, client: Start) -> None:
    """Several torchruns in one Slurm job are several launches; pods of a Kubernetes job have different launchers."""
    two = {"SLURM_NTASKS": "2"}
    for environment in (
        SLURM | two, SLURM | two | {"SLURM_PROCID": "0"}, SLURM | two | {"SLURM_STEP_ID": "1"},
        SLURM | {"RANK": "0"},
        *(KUBERNETES | {"HOSTNAME": pod, "POD_NAMESPACE": of} for pod, of in (("t-0", "a"), ("t-1", "a"), ("t-0", "b")))
    ):  # fmt: skip
        client(OPEN, **environment).finish()
    found = launches(node)
    assert found[0] == found[1] != found[2]
    assert found[3] == found[0], "this test is torchrun and srun at once"
    assert found[4] == found[5] != found[6]
    assert found[4:] == ["pod a/t", "pod a/t", "pod b/t"]


def test_an_environment_that_cannot_be_read_ends_the_search(node: Node, client: Start, prelude: str) -> None:
    """In a PID namespace of one rank there is no launcher: ranks agree on where they meet."""
    if not pid_namespace():
        pytest.skip("no PID namespaces here")
    words = [*pid_namespace(), sys.executable, "-c", prelude + OPEN]
    nested = f"import subprocess; subprocess.run({words!r}, check=True)"
    client(nested, **TORCHRUN).finish()
    assert launches(node) == ["run7"]
