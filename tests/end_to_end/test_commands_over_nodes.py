"""Commands of `jitc` about a job over two nodes, from either node: one that runs, and one whose nodes are cut off.

The services, their certificates and etcd are what users start; each command is one that a user types on one node.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from toolkit.cluster import Cluster, NodeJob, NodeService, started, why_not
from toolkit.documents import refusals
from toolkit.job import run_command
from toolkit.jobs import JOBS
from toolkit.pace import PACED
from toolkit.service import BIN
from toolkit.waiting import until
from toolkit.workplace import Workplace

LONG = replace(JOBS["gpt"].with_arguments("--steps", "500"), around=PACED)
SECONDS = 60.0
pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())


@pytest.fixture(scope="module")
def town(shared_workplace: Workplace) -> Iterator[Cluster]:
    """Two nodes, with a service on each."""
    with started(shared_workplace.folder / "c", 2, shared_workplace.env) as made:
        until(lambda: all(len(asked(one)["nodes"]) == 2 for one in made.services), SECONDS, "the nodes know each other")
        yield made


@pytest.fixture(scope="module")
def steps() -> Iterator[int]:
    """How many steps the job is to have made, each time that it is to make another one."""
    return count(3)


@pytest.fixture(scope="module")
def job(town: Cluster, steps: Iterator[int], tmp_path_factory: pytest.TempPathFactory) -> NodeJob:
    """A job with a rank on each, which stands still."""
    made = town.job(LONG, tmp_path_factory.mktemp("job"), town.services)
    made.go_to(next(steps))
    return made


def jitc(service: NodeService, *words: str) -> subprocess.CompletedProcess[str]:
    """A command, as it is typed on this node."""
    return run_command([str(BIN / "jitc"), *words], env=service.env, timeout=SECONDS)


def asked(service: NodeService, *words: str, command: str = "status") -> Any:
    """The document of all nodes, or of those that the words name."""
    done = jitc(service, command, "--json", *(words or ("--all-nodes",)))
    assert done.returncode == 0, done
    document = json.loads(done.stdout)
    assert not refusals(document, command)
    return document


def sessions(document: Any) -> list[tuple[str, int, str, list[str]]]:
    """Node, rank, state and other nodes of each."""
    found = [one for gpu in document["gpus"] for one in gpu["sessions"]]
    assert all(one["node"] == gpu["node"] for gpu in document["gpus"] for one in gpu["sessions"])
    return [(one["node"], one["rank"], one["state"], one["other_nodes"]) for one in found]


def test_a_job_that_runs(town: Cluster, job: NodeJob, steps: Iterator[int]) -> None:
    here, there = town.services
    both = [(here.name, 0, "serving", [there.name]), (there.name, 1, "serving", [here.name])]
    for one in town.services:
        assert sessions(asked(one)) == both
    assert sessions(asked(here, "--node", there.name)) == both[1:] == sessions(asked(there, "--node", there.name))
    assert f"its job has ranks on {there.name} too" in jitc(here, "status").stdout

    before, told = (here.worker_pid(0), there.worker_pid(0)), asked(here, command="report")["recoveries"]
    done = jitc(here, "inject", "kill-worker", "--gpu", "0", "--node", there.name)
    assert (done.returncode, done.stderr) == (0, "") and f"on GPU 0 of node {there.name} fired" in done.stdout

    def new() -> list[Any]:
        return [one for one in asked(there, command="report")["recoveries"] if one not in told]

    [recovery] = until(lambda: new() or None, SECONDS, "a recovery is told of")
    assert recovery["places"] == [{"node": there.name, "gpu": 0}] and recovery["outcome"] == "recovered"
    assert [one["node"] for one in recovery["ranks"]] == [here.name, there.name]
    text = jitc(here, "report", "--all-nodes").stdout
    assert f"GPU 0 of node {there.name}: worker-death" in text and "does not answer" not in text
    assert before[0] == here.worker_pid(0) and before[1] != there.worker_pid(0)

    words = [str(BIN / "jitc"), "validate", "--gpu", "0", "--node", there.name, "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=here.env, text=True) as validate:
        while validate.poll() is None:  # it needs a step that begins after it
            job.go_to(next(steps))
        verdict = json.loads(validate.communicate()[0])
    assert (validate.returncode, verdict["outcome"], verdict["node"]) == (0, "identical", there.name)

    returned = jitc(here, "gpu", "return", "0", "--node", there.name)
    assert returned.returncode == 0 and returned.stdout == jitc(there, "gpu", "return", "0").stdout
    refused = jitc(here, "inject", "kill-worker", "--gpu", "7", "--node", there.name)
    assert refused.returncode == 2 and f"node {there.name}: this node has no GPU 7" in refused.stderr
    unknown = jitc(here, "status", "--node", "elsewhere")
    assert unknown.returncode == 2 and "no node elsewhere" in unknown.stderr
    assert f"its nodes are {here.name}, {there.name}" in unknown.stderr


def test_a_node_that_is_cut_off(town: Cluster, job: NodeJob, steps: Iterator[int]) -> None:
    here, there = town.services
    town.nodes.cut(0, 1)
    silent = jitc(here, "status", "--node", there.name)
    assert silent.returncode == 3 and silent.stderr.startswith(f"jitc: node {there.name} does not answer: ")
    document = asked(here)
    assert [one["node"] for one in document["nodes"] if one["trouble"]] == [there.name]
    assert [one[0] for one in sessions(document)] == [here.name]
    shown = jitc(here, "status", "--all-nodes")
    assert shown.returncode == 0 and f"node {there.name} does not answer: " in shown.stdout

    def trouble() -> str:
        return str(asked(here, "--node", here.name)["gpus"][0]["sessions"][0]["trouble"])

    until(lambda: f"node {there.name} cannot be reached" in trouble(), SECONDS, "the status says why")
    town.nodes.heal(0)
    until(lambda: len(sessions(asked(here))) == 2, SECONDS, "the other node answers again")
    until(lambda: not trouble(), SECONDS, "the status has nothing to say")
    job.go_to(next(steps))
