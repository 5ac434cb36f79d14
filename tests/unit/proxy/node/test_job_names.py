"""Names of jobs: a launch keeps its name, and no other job has it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from standin_client import Client

from jitc.proxy.keeper.log import Log
from jitc.proxy.node.job_names import JOBS_MOST, JobNames
from jitc.proxy.service import Service
from jitc.v1 import control_pb2


def test_ranks_of_a_launch_have_one_name_and_other_jobs_another() -> None:
    names = JobNames(Log.make())
    assert [names.name("train", "1.5") for _ in range(3)] == ["train"] * 3
    assert names.name("train", "2.6") == "train (2)"
    assert names.name("train", "3.7") == "train (3)"
    assert names.name("train", "1.5") == "train"
    assert names.name("other", "1.5") == "other"


def test_a_name_that_looks_like_another_is_none() -> None:
    names = JobNames(Log.make())
    assert names.name("train (2)", "1") == "train (2)"
    assert names.name("train", "2") == "train"
    assert names.name("train", "3") == "train (3)"


def test_no_name_and_an_old_library() -> None:
    names = JobNames(Log.make())
    assert (names.name("", "1"), names.name("", "2")) == ("", "")
    assert (names.name("train", ""), names.name("train", "")) == ("train", "train")


def test_the_next_service_knows_them() -> None:
    log = Log.make()
    first = JobNames(log)
    assert [first.name("train", launch) for launch in "ab"] == ["train", "train (2)"]
    second = JobNames(log)
    assert [second.name("train", launch) for launch in "cba"] == ["train (3)", "train (2)", "train"]


def test_only_so_many_are_remembered() -> None:
    log = Log.make()
    names = JobNames(log)
    for launch in range(JOBS_MOST + 5):
        names.name(f"job {launch}", "x")
    assert names.name("job 0", "y") == "job 0", "forgotten"
    assert names.name("job 100", "y") == "job 100 (2)"
    assert len(log.entries("job/")) == JOBS_MOST


@pytest.mark.parametrize("name", ["../../escaped", "/escaped", "..", "escaped/x"])
def test_a_name_is_never_that_of_a_file(service: Service, tmp_path: Path, name: str) -> None:
    """JITC_JOB is any text. Sessions, their memory and their reports are found by numbers."""
    client = Client(service, job=name, launch="1")
    gpus = json.loads(client.admin.Status(control_pb2.StatusRequest(), timeout=20).json)["gpus"]
    assert [one["job"] for gpu in gpus for one in gpu["sessions"]] == [name]
    folders = {tmp_path.parent, tmp_path.parent.parent, Path("/"), Path("/dev/shm"), Path(), Path("..")}
    folders |= {Path(path) for path, _, _ in os.walk(tmp_path)}
    assert [one for folder in folders for one in folder.iterdir() if "escaped" in one.name] == []
    client.close()
