"""One service for several users: each has the own workers, reports and faults, and reaches nothing of another's."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from toolkit import users
from toolkit.fakes import fake_options, fake_system
from toolkit.job import PRELOAD, ROOT, Script
from toolkit.jobs import JOBS
from toolkit.lockstep import Lockstep, finish_all
from toolkit.pace import PACED
from toolkit.peer_mode import PacedJob
from toolkit.record import Record, assert_identical
from toolkit.service import BIN
from toolkit.users import as_user
from toolkit.waiting import patient, until
from toolkit.workplace import Workplace

Reference = Callable[[Script, str], list[Record]]
ANN, BOB, EVE = 1001, 1002, 1003
GROUP = 7000
STEPS = 30
SUM = "import torch; print(torch.ones(3, device='cuda').sum().item(), flush=True)"
TRAINING = ROOT / "tests" / "end_to_end" / "cuda_training.py"
SCRIPT = replace(JOBS["gpt"].with_arguments("--steps", str(STEPS)), around=PACED)

pytestmark = pytest.mark.skipif(bool(users.why_not()), reason=users.why_not() or "-")


class Node:
    """A service for several users, and their jobs and commands."""

    def __init__(self, workplace: Workplace, *options: str) -> None:
        workplace.folder.chmod(0o755)
        self.workplace = workplace
        self.service = workplace.service(2, options, as_user(0))
        self.service.folder.chmod(0o755)
        self.private = Path(f"{self.service.socket}.d")

    def job(self, uid: int, script: Script = SCRIPT) -> PacedJob:
        number = len(self.workplace.jobs)
        for name in (f"job{number}", f"pace{number}"):
            folder = self.workplace.folder / name
            folder.mkdir()
            os.chown(folder, uid, uid)
        job = PacedJob(self.workplace, script, self.service, as_user(uid), TMPDIR="/tmp")
        for one in (self.workplace.folder / f"pace{number}").iterdir():
            os.chown(one, uid, uid)
        return job

    def jitc(self, uid: int, *words: str, groups: tuple[int, ...] = ()) -> subprocess.CompletedProcess[str]:
        command = [*as_user(uid, groups=groups), str(BIN / "jitc"), *words]
        return subprocess.run(
            command, check=False, capture_output=True, text=True, env=self.service.env, timeout=patient(60)
        )

    def sessions(self, uid: int) -> list[dict[str, Any]]:
        """Returns the sessions that the user sees."""
        done = self.jitc(uid, "status", "--json")
        assert done.returncode == 0, done.stderr
        return [one for gpu in json.loads(done.stdout)["gpus"] for one in gpu["sessions"]]

    def recoveries(self, uid: int) -> list[dict[str, Any]]:
        done = self.jitc(uid, "report", "--json")
        assert done.returncode == 0, done.stderr
        return list(json.loads(done.stdout)["recoveries"])


@pytest.fixture
def node(workplace: Workplace) -> Iterator[Node]:
    yield Node(workplace, "--users", f"{ANN},{BOB}")


def preloaded(node: Node) -> dict[str, str]:
    return {**node.service.env, "LD_PRELOAD": str(PRELOAD)}


def user_of(path: Path) -> int:
    """Returns whose a file is, or a process by its folder in /proc."""
    return path.stat().st_uid


def test_two_users_train_at_once(node: Node, reference: Reference) -> None:
    """One's worker dies by a fault, the other's by the other's hand: both are identical, and each sees the own."""
    armed = node.jitc(ANN, "inject", "--gpu", "1", "kill-worker", "--at", "boundary=3,phase=backward")
    assert armed.returncode == 0, armed.stderr
    ann, bob = node.job(ANN), node.job(BOB)
    bob.go_to(4)
    ann.go_to(2)
    for uid in (ANN, BOB):
        mine = node.sessions(uid)
        assert len(mine) == 2
        assert {user_of(Path("/proc", str(one["worker_pid"]))) for one in mine} == {uid}
        assert {one["user"] for one in mine} == {str(uid)}
    assert len(node.sessions(0)) == 4
    worker = node.sessions(BOB)[0]["worker_pid"]
    assert subprocess.run([*as_user(ANN), "kill", "-9", str(worker)], check=False, capture_output=True).returncode == 1
    assert subprocess.run([*as_user(BOB), "kill", "-9", str(worker)], check=False).returncode == 0
    for job in (ann, bob):
        job.go_to(8)
        job.let_go()
    for job in (ann, bob):
        assert_identical(job.job.finish().successful().records, reference(SCRIPT, "cuda"))
    for uid in (ANN, BOB):
        assert [one["outcome"] for one in node.recoveries(uid)] == ["recovered"]
    assert len(node.recoveries(0)) == 2


@pytest.mark.sampled
@pytest.mark.parametrize("how", ["killed", "replaced", "keeper"])
def test_the_next_service_serves_all_users(how: str, node: Node, reference: Reference) -> None:
    ann, bob = node.job(ANN), node.job(BOB)
    for job in (ann, bob):
        job.go_to(3)
    service, worker = node.service, node.sessions(ANN)[0]["worker_pid"]
    if how == "killed":
        service.kill()
        os.kill(worker, signal.SIGKILL)
        service.restart()
    elif how == "replaced":
        service.replace()
        os.kill(worker, signal.SIGKILL)
    else:  # all workers die with it, of either user
        os.kill(service.keeper_pid(), signal.SIGKILL)
    for job in (ann, bob):
        job.let_go()
        assert_identical(job.job.finish().successful().records, reference(SCRIPT, "cuda"))
    if how == "replaced":
        service.replace()  # without a job: it begins anew, and knows of the reports, and of its users, all the same
        program = [
            *as_user(BOB),
            sys.executable,
            "-c",
            "import torch; print(torch.ones(3, device='cuda').sum().item())",
        ]
        said = subprocess.run(
            program, check=True, capture_output=True, text=True, env=preloaded(node), timeout=patient(60)
        )
        assert said.stdout == "3.0\n", said.stderr
    assert {one["outcome"] for one in node.recoveries(ANN)} == {"recovered"}
    assert bool(node.recoveries(BOB)) is (how == "keeper")
    assert {user_of(Path("/proc", str(one["worker_pid"]))) for one in node.sessions(BOB)} <= {BOB}


#: Tries what one user may not do to another; prints what it could. Arguments: the private folder, the other's user, and
#: worker.
REACHES = """
import json, os, socket, sys
folder, uid, worker = sys.argv[1], sys.argv[2], sys.argv[3]
done = []
def tries(what, act):
    try:
        act()
    except OSError as error:
        return
    done.append(what)
def call(path, kind):
    with socket.socket(socket.AF_UNIX, kind) as one:
        one.settimeout(20)
        one.connect(path)
        if kind == socket.SOCK_SEQPACKET and not one.recv(64):
            raise ConnectionResetError
tries("list", lambda: os.listdir(folder))
tries("list the user's", lambda: os.listdir(f"{folder}/u{uid}"))
tries("write", lambda: open(f"{folder}/x", "w"))
tries("keeper", lambda: call(f"{folder}/keeper", socket.SOCK_SEQPACKET))
tries("programs", lambda: call(f"{folder}/programs", socket.SOCK_SEQPACKET))
for number in range(100):
    for name in (f"w{number}", f"w{number}-ops"):
        tries(name, lambda: call(f"{folder}/u{uid}/{name}", socket.SOCK_STREAM))
for name in ("mem", "environ", "fd/0", "maps", "cwd"):
    tries(name, lambda: os.open(f"/proc/{worker}/{name}", os.O_RDONLY))
tries("signal", lambda: os.kill(int(worker), 0))
tries("descriptors", lambda: os.listdir(f"/proc/{worker}/fd"))
print(json.dumps(done))
"""


def test_nobody_reaches_what_is_anothers(node: Node, reference: Reference) -> None:
    """BOB may use the service, EVE may not; neither gets at anything of ANN's, and ANN's job notices nothing."""
    ann = node.job(ANN)
    ann.go_to(3)
    worker = node.sessions(ANN)[0]["worker_pid"]
    reached = {}
    for uid in (ANN, BOB, EVE):
        words = [*as_user(uid), sys.executable, "-c", REACHES, str(node.private), str(ANN), str(worker)]
        done = subprocess.run(words, check=True, capture_output=True, text=True, timeout=patient(60))
        reached[uid] = json.loads(done.stdout)
    assert "signal" in reached[ANN] and any(one.endswith("-ops") for one in reached[ANN]), reached
    assert reached[BOB] == ["programs"]
    assert reached[EVE] == []
    assert node.sessions(BOB) == []
    for words in (("inject", "--gpu", "0", "kill-worker"), ("validate", "--gpu", "0")):
        refused = node.jitc(BOB, *words)
        assert refused.returncode != 0, refused.stdout
    ann.let_go()
    assert_identical(ann.job.finish().successful().records, reference(SCRIPT, "cuda"))
    assert node.recoveries(ANN) == node.recoveries(BOB) == []


def test_a_user_who_is_on_no_list(node: Node) -> None:
    """Each command says so in one line; `doctor` and `support-bundle`, which are about more, have it among the rest."""
    why = f"this user may not use this jitc-proxyd, which serves {ANN},{BOB} (--users)"
    inject = ("inject", "--gpu", "0", "kill-worker")
    for words in (("status",), ("report",), inject, ("validate", "--gpu", "0"), ("gpu", "return", "0")):
        refused = node.jitc(EVE, *words)
        assert (refused.returncode, refused.stdout) == (1, ""), words
        assert refused.stderr.splitlines() == [f"jitc: {why}"]
    looked = node.jitc(EVE, "doctor", "--json", "--device", "software")
    (found,) = [one for one in json.loads(looked.stdout)["checks"] if one["name"] == "service"]
    assert looked.returncode == 1 and found["verdict"] == "bad"
    assert found["says"] == why and "start a service of your own" in found["remedy"]
    folder = node.workplace.folder / "eve"
    folder.mkdir()
    os.chown(folder, EVE, EVE)
    packed = node.jitc(EVE, "support-bundle", "--output", str(folder / "bundle.tar.gz"))
    assert packed.returncode == 0 and f"missing: {why}" in packed.stderr, packed.stderr
    with tarfile.open(folder / "bundle.tar.gz") as archive:
        texts = [archive.extractfile(one) for one in archive if one.name.endswith(("/status.json", "/report.json"))]
        assert [one and why in one.read().decode() for one in texts] == [True, True]


def test_a_program_of_a_user_who_is_on_no_list(node: Node) -> None:
    """One line says why it has no GPU, whether it needs one or only looks."""
    why = f"the node service on {node.service.socket}: this user may not use this jitc-proxyd, which serves {ANN},{BOB}"
    for code, status, printed in (
        (SUM, 1, ""),
        ("import torch; print(torch.cuda.is_available(), torch.cuda.device_count())", 0, "False 0\n"),
    ):
        words = [*as_user(EVE), sys.executable, "-c", code]
        done = subprocess.run(
            words, check=False, capture_output=True, text=True, env=preloaded(node), timeout=patient(60)
        )
        assert (done.returncode, done.stdout) == (status, printed), done.stderr
        said = {line for line in done.stderr.splitlines() if line.startswith("jitc: ")}
        assert said == {f"jitc: {why} (--users)"}, done.stderr
    assert node.sessions(0) == []


#: Has 64 MiB that no step changes, of which each boundary needs a copy, and waits for a line before its last step.
HOLDS = """
import torch
torch.manual_seed(7)
kept = torch.rand(16 << 20, device="cuda")
weight = torch.ones(4, device="cuda", requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
def step():
    optimizer.zero_grad()
    (weight * kept[:4]).sum().backward()
    optimizer.step()
    print(kept.sum().item(), weight.sum().item(), flush=True)
for _ in range(4):
    step()
input()
step()
"""
MIB = 1 << 20
#: Enough for the copies of two boundaries of one program, too little for those of the other one beside them.
ROOM = 160 * MIB


def holds_copies(node: Node, uid: int) -> bool:
    (session,) = node.sessions(uid)
    return bool(session["copies_held_bytes"] >= 64 * MIB)


def test_memory_for_copies_of_two_users(workplace: Workplace) -> None:
    """Each has all of --copies-limit: both together need more, and either is restored from the own copies."""
    node = Node(workplace, "--users", f"{ANN},{BOB}", "--copies-limit", f"{ROOM // MIB}MiB")
    programs = [
        subprocess.Popen(
            [*as_user(uid), sys.executable, "-c", HOLDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=preloaded(node),
        )
        for uid in (ANN, BOB)
    ]  # fmt: skip
    try:
        before = [[one.stdout.readline() for _ in range(4)] for one in programs if one.stdout is not None]
        assert before[0] == before[1] and all(before[0])
        for uid in (ANN, BOB):
            until(partial(holds_copies, node, uid), 60, "it has copies")
        limits = [json.loads(node.jitc(uid, "status", "--json").stdout)["copies"]["limit_bytes"] for uid in (ANN, 0)]
        assert limits == [ROOM, 3 * ROOM], "root sees the own, ANN's and BOB's"
        for uid in (ANN, BOB):
            os.kill(node.sessions(uid)[0]["worker_pid"], signal.SIGKILL)
        ends = [one.communicate("\n", timeout=patient(60)) for one in programs]
        assert [one.returncode for one in programs] == [0, 0], ends
        assert ends[0][0] == ends[1][0] and ends[0][0].split()[0] == before[0][0].split()[0]
        assert all("copies" not in errors for _, errors in ends), ends
        for uid in (ANN, BOB):
            assert [one["outcome"] for one in node.recoveries(uid)] == ["recovered"]
    finally:
        for one in programs:
            one.kill()
            one.communicate()


def test_kernels_of_two_users(workplace: Workplace) -> None:
    """On the cuda device: each user's images of kernels are in the own folder, and a new worker finds them there."""
    driver = workplace.folder / "driver"
    driver.mkdir()
    workplace.env |= fake_system(driver, workplace.env, DEVICES="2", VARIABLES="fixed")
    fakes = ("--device", "cuda", *fake_options("nccl", "cublas", "cublaslt", "nvrtc"))
    node = Node(workplace, *fakes, "--users", f"{ANN},{BOB}")
    programs = [
        Lockstep(node.service, TRAINING, gpu, 1, 0, 1, 0, 1, before=as_user(uid)) for gpu, uid in ((0, ANN), (1, BOB))
    ]
    try:
        lines = [[one.step() for one in programs] for _ in range(3)]
        for uid in (ANN, BOB):
            assert len(node.sessions(uid)) == 1
            images = [one for one in (node.private / f"u{uid}" / "images").iterdir() if one.is_file()]
            assert images and {user_of(one) for one in images} == {uid}
        for uid in (ANN, BOB):
            os.kill(node.sessions(uid)[0]["worker_pid"], signal.SIGKILL)
        lines += [[one.step() for one in programs] for _ in range(3)]
        assert all(ann == bob != "" for ann, bob in lines), "both do the same"
        assert len({ann for ann, _ in lines}) == len(lines)
        for uid in (ANN, BOB):
            assert [one["outcome"] for one in node.recoveries(uid)] == ["recovered"]
        finish_all(programs)
    finally:
        for one in programs:
            one.kill()


def test_groups_and_administrators(workplace: Workplace) -> None:
    """A group's members are served, by whatever group they have it; an administrator sees and injures all."""
    node = Node(workplace, "--users", f"@{GROUP},{BOB}", "--admins", str(BOB))
    assert node.jitc(EVE, "status", groups=(GROUP,)).returncode == 0
    assert node.jitc(EVE, "status").returncode != 0
    words, env = [*as_user(ANN, groups=(5, GROUP)), sys.executable, "-c", f"{SUM}; input()"], preloaded(node)
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "3.0\n"
        [seen] = node.sessions(BOB)
        assert seen["user"] == str(ANN)
        status = Path(f"/proc/{seen['worker_pid']}/status").read_text()
        groups = next(line for line in status.splitlines() if line.startswith("Groups:")).split()[1:]
        assert groups == ["5", str(GROUP)]
        killed = node.jitc(BOB, "inject", "--gpu", "0", "kill-worker")
        assert killed.returncode == 0, killed.stderr
        until(lambda: len(node.recoveries(BOB)) == 1, 60, "the recovery is told of")
        program.communicate("\n", timeout=patient(60))
        assert program.returncode == 0
