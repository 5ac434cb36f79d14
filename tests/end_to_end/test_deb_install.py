"""The Debian package on a bare Debian with systemd: installed, used, upgraded under a job, removed and purged.

Debian comes from debootstrap, and runs as a container without a network. Programs use the PyTorch of the tests, which
it sees. Upgrades are to packages with the same contents and a higher version, or with another protocol.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from toolkit import debian
from toolkit.containers import OUT, Podman, private_podman
from toolkit.containers import why_not as why_no_containers
from toolkit.job import Script
from toolkit.jobs import JOBS
from toolkit.pace import PACE, PACED, Pace
from toolkit.ranks import __file__ as RANKS
from toolkit.record import Record, assert_identical, read_records
from toolkit.tree import ROOT
from toolkit.waiting import patient, until
from toolkit.wheel import environment, made

SUITE, PYTHON = "bookworm", (3, 11)
Reference = Callable[[Script, str], list[Record]]


def why_not() -> str:
    """Returns why these tests cannot run here; empty: they can."""
    if shutil.which("dpkg-deb") is None:
        return "there is no dpkg-deb"
    if sys.version_info[:2] != PYTHON:
        return f"Debian {SUITE} has Python 3.11, and the tests' PyTorch is for another one"
    return debian.why_not() or why_no_containers()


pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(why_not()), reason=why_not() or "debian"),
]
UNIT, SOCKET, LIB = "jitc-proxyd.service", "/run/jitc/proxyd.sock", "/usr/lib/jitc"
FIRST, SECOND, OTHER = "1.0", "1.1", "2.0"
PACKAGES = "/packages"
#: Files that change with each use of apt, or with the machine.
NOT_THE_PACKAGES = (
    "dev", "proc", "run", "sys", "tmp", "var/cache/apt", "var/cache/debconf", "var/cache/man", "var/lib/apt",
    "var/lib/dpkg", "var/lib/systemd", "var/log",
)  # fmt: skip
STEPS = 12
SCRIPT = JOBS["gpt"].with_arguments("--steps", str(STEPS))
JOB = "llama"


def packages_of_pytorch() -> str:
    """Returns the folder of the tests' PyTorch, which jitc's checkout is not in."""
    (found,) = {one for one in sys.path if one.endswith("site-packages")}
    return found


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes the three packages. Returns their folder."""
    import torch

    out = tmp_path_factory.mktemp("packages")
    wheel = made(tmp_path_factory.mktemp("dist"), torch.__version__.split("+")[0])
    other = tmp_path_factory.mktemp("other") / wheel.name
    with zipfile.ZipFile(wheel) as given, zipfile.ZipFile(other, "w") as changed:
        for one in given.infolist():
            text = given.read(one)
            if one.filename == "jitc/proxy/common/paths.py":
                text = text.replace(b"\nPROTOCOL_VERSION = ", b"\nPROTOCOL_VERSION = 9")
            changed.writestr(one, text)
    for version, source in ((FIRST, wheel), (SECOND, wheel), (OTHER, other)):
        words = ["--wheel", source, "--version", version, "--pythons", "3.11", "--level", "0", "--out", out]
        command = [sys.executable, ROOT / "scripts/deb/make.py", *words]
        subprocess.run([str(one) for one in command], check=True, env=environment(), timeout=patient(200))
    return out


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("debian") / "root"
    debian.make(folder, SUITE, "python3", "systemd", "man-db")
    yield folder
    shutil.rmtree(folder)


@dataclass
class Done:
    """The end of a command: its status, and both outputs."""

    status: int
    said: str


class Machine:
    """A running Debian."""

    def __init__(self, podman: Podman, root: Path, packages: Path) -> None:
        self.podman, self.root = podman, root
        seen = (packages_of_pytorch(), str(ROOT / "tests"), str(ROOT / "examples"), str(ROOT / "LICENSE"))
        mounts = [word for one in seen for word in ("-v", f"{one}:{one}:ro")]
        podman.run(
            "run", "-d", "--name", "machine", "--systemd=always", "--network", "none", "--cap-add", "all",
            "--security-opt", "seccomp=unconfined", "--ulimit", "host", "-e", "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
            "-e", "DEBIAN_FRONTEND=noninteractive", "-e", "SYSTEMD_PAGER=", *mounts, "-v", f"{packages}:{PACKAGES}:ro",
            "-v", f"{podman.out}:{OUT}", "--rootfs", str(root), "/usr/lib/systemd/systemd", seconds=patient(60),
        )  # fmt: skip
        until(lambda: self.run("systemctl", "is-system-running").said == "running", 60, "systemd runs")
        self._before = self._files()

    def command(self, *words: str, **environ: str) -> list[str]:
        given = [word for name, value in environ.items() for word in ("-e", f"{name}={value}")]
        return [*self.podman.command, "exec", *given, "machine", *words]

    def run(self, *words: str, **environ: str) -> Done:
        done = subprocess.run(
            self.command(*words, **environ), env=self.podman.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=patient(200), check=False,
        )  # fmt: skip
        return Done(done.returncode, done.stdout.strip())

    def get(self, *words: str, **environ: str) -> str:
        """Returns what a command says that succeeds."""
        done = self.run(*words, **environ)
        assert done.status == 0, f"{' '.join(words)}: {done.said}"
        return done.said

    def install(self, version: str) -> str:
        return self.get("apt-get", "-q", "install", "-y", f"{PACKAGES}/jitc_{version}_amd64.deb")

    def tree(self) -> str:
        """Returns the folder of the current version."""
        return self.get("readlink", "-e", f"{LIB}/current")

    def trees(self) -> set[str]:
        """Returns the versions that have a folder."""
        names = self.get("ls", LIB).split()
        return {one.split("-")[0] for one in names} - {"current", "package", "trees"}

    def main_pid(self) -> int:
        return int(self.get("systemctl", "show", "-P", "MainPID", UNIT))

    def serves(self, version: str, pid: int) -> bool:
        """Returns whether the service is ready, of this version, and in another process than this one."""
        if self.get("systemctl", "show", "-P", "ActiveState", UNIT) != "active" or self.main_pid() in (0, pid):
            return False
        return self.get("cat", f"/proc/{self.main_pid()}/cmdline").startswith(f"{LIB}/{version}-")

    def start_service(self) -> None:
        """Starts the service with two software GPUs."""
        self.see_pytorch()
        drop_ins = f"/run/systemd/system/{UNIT}.d"
        self.get("mkdir", "-p", drop_ins)
        self.get("cp", "/usr/share/doc/jitc/examples/jitc-proxyd-software.conf", drop_ins)
        self.get("sh", "-c", "echo 'gpus = 2' >> /etc/jitc/jitc.toml")
        self.get("systemctl", "daemon-reload")
        self.get("systemctl", "start", UNIT)

    def see_pytorch(self) -> None:
        self.get("ln", "-s", packages_of_pytorch(), "/etc/jitc/packages")

    def status(self, tree: str) -> list[dict[str, object]]:
        """Returns the sessions, as jitc of this folder prints them."""
        said = self.get(f"{tree}/bin/python3", f"{tree}/bin/jitc", "status", "--json")
        return [one for gpu in json.loads(said)["gpus"] for one in gpu["sessions"]]

    def journal(self) -> str:
        return self.run("journalctl", "--no-pager", "-o", "cat").said

    def purge(self) -> None:
        """Purges the package, of which nothing is left."""
        self.get("apt-get", "-q", "purge", "-y", "jitc")
        assert self._files() == self._before
        assert self.run("ls", "-d", "/run/jitc").status != 0
        assert "bin/python3 -m jitc" not in self._commands()

    def _commands(self) -> str:
        return self.get("sh", "-c", "cat /proc/[0-9]*/cmdline 2> /dev/null | tr '\\0' ' ' || true")

    def _files(self) -> set[str]:
        found = set()
        left_out = {str(self.root / one) for one in NOT_THE_PACKAGES} | {str(self.root) + OUT}
        for folder, folders, files in os.walk(self.root):
            folders[:] = [one for one in folders if f"{folder}/{one}" not in left_out]
            found |= {f"{folder}/{one}" for one in (*folders, *files)}
        return found


class Program:
    """A training job in the machine, step by step, with the system's Python and no package jitc of its own."""

    def __init__(self, machine: Machine, **environ: str) -> None:
        self._out, tree = machine.podman.out, machine.tree()
        self.pace, self._log = Pace(self._out, SCRIPT.ranks), self._out / "program.log"
        variables = {
            "LD_PRELOAD": machine.get("jitc", "preload-path"), "JITC_JOB": JOB, PACE: OUT, "OMP_NUM_THREADS": "1",
            "PYTHONPATH": f"{tree}/packages:{packages_of_pytorch()}", "PYTHONDONTWRITEBYTECODE": "1",
            **environ,
        }  # fmt: skip
        around = [str(ROOT / one) for one in PACED]
        words = [*around, str(ROOT / "examples" / SCRIPT.name), "--device", "cuda", *SCRIPT.arguments]
        command = ["python3", RANKS, str(SCRIPT.ranks), *words, "--json", f"{OUT}/record.json"]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                machine.command("env", *(f"{name}={value}" for name, value in variables.items()), *command),
                env=machine.podman.env, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
            )  # fmt: skip

    def goes_to(self, step: int) -> None:
        """Lets it make its steps up to this one, and waits until it has."""
        self.pace.grant(step)
        until(lambda: self.pace.waits() or self.process.poll() is not None, 150, f"step {step}")
        assert self.process.poll() is None, self.output()

    def finish(self) -> list[Record]:
        """Lets it make all its steps. Returns what each rank has computed."""
        self.pace.grant(STEPS)
        assert self.process.wait(patient(150)) == 0, self.output()
        return read_records(self._out)

    def output(self) -> str:
        return self._log.read_text(errors="replace")[-6000:]


@pytest.fixture
def machine(root: Path, packages: Path) -> Iterator[Machine]:
    with private_podman("jitc-deb-") as podman:
        one = Machine(podman, root, packages)
        yield one
        print(one.journal()[-6000:])


def test_commands_work_for_every_user(machine: Machine) -> None:
    assert "Setting up jitc (1.0)" in machine.install(FIRST)
    assert machine.get("dpkg", "--verify", "jitc") == ""
    assert machine.run("systemctl", "is-enabled", UNIT).said == "disabled"
    assert machine.run("systemctl", "is-active", UNIT).said == "inactive"
    for user in ("root", "nobody"):
        assert machine.get("runuser", "-u", user, "--", "jitc", "--version").startswith("jitc 0.")
        assert machine.get("runuser", "-u", user, "--", "jitc-proxyd", "--version").startswith("jitc")
        assert machine.run("runuser", "-u", user, "--", "jitc", "status").status == 3
    doctor = json.loads(machine.get("jitc", "doctor", "--json", "--device", "software"))
    assert "bad" not in {one["verdict"] for one in doctor["checks"]}
    assert machine.run("test", "-f", machine.get("jitc", "preload-path")).status == 0
    for command in ("jitc", "jitc-proxyd"):
        assert machine.get("man", "-w", command) == f"/usr/share/man/man1/{command}.1.gz"
        complete = f". /usr/share/bash-completion/completions/{command} && complete -p {command}"
        assert machine.get("bash", "-c", complete).endswith(f" {command}")
    machine.get("systemctl", "enable", "--now", "jitc-proxyd.socket")
    assert machine.run("test", "-S", SOCKET).status == 0
    assert machine.run("python3", "-c", "import jitc").status == machine.run("python3", "-c", "import grpc").status == 1
    machine.get("apt-get", "-q", "remove", "-y", "jitc")
    assert "Started jitc node service" not in machine.journal() and machine.run("test", "-e", SOCKET).status == 1
    assert machine.run("test", "-e", LIB).status == 1 and machine.run("test", "-e", "/etc/jitc/jitc.toml").status == 0
    machine.purge()


def test_other_packages_on_the_import_path_do_no_harm(machine: Machine) -> None:
    """Many clusters set PYTHONPATH, to packages for another Python."""
    machine.install(FIRST)
    machine.get("sh", "-c", "mkdir -p /tmp/strange/grpc && echo 'raise SystemExit(9)' > /tmp/strange/grpc/__init__.py")
    assert machine.run("jitc", "status", PYTHONPATH="/tmp/strange").status == 3
    done = machine.run("jitc", "run", "--", "sh", "-c", "echo $PYTHONPATH", PYTHONPATH="/tmp/strange")
    assert (done.status, done.said) == (0, f"{machine.tree()}/packages:/tmp/strange")
    machine.purge()


def test_the_demo_and_a_program_without_package_jitc(machine: Machine) -> None:
    machine.install(FIRST)
    machine.see_pytorch()
    machine.get("jitc", "demo", "--steps", "4", "--json", f"{OUT}/demo.json")
    assert json.loads((machine.podman.out / "demo.json").read_text())["identical"]
    code = "import torch, jitc; torch.ones(1, device='cuda'); print(jitc.__file__)"
    said = machine.get("jitc", "run", "--", "python3", "-c", code, PYTHONPATH=packages_of_pytorch())
    assert said.splitlines()[-1] == f"{machine.tree()}/packages/jitc/__init__.py"
    machine.purge()


def test_an_upgrade_under_a_job(machine: Machine, reference: Reference) -> None:
    machine.install(FIRST)
    machine.start_service()
    job, before = Program(machine), machine.main_pid()
    job.goes_to(3)
    refused = machine.run("apt-get", "-q", "remove", "-y", "jitc")
    assert refused.status and f"jitc: in use by job {JOB}" in refused.said and "JITC_REMOVE=force" in refused.said
    assert machine.main_pid() == before and machine.get("jitc", "--version")
    job.goes_to(5)
    assert "has taken over the running one" in machine.install(SECOND)
    assert machine.serves(SECOND, before) and machine.trees() == {FIRST, SECOND}
    job.goes_to(7)
    worker = machine.status(machine.tree())[0]["worker_pid"]
    machine.get("python3", "-c", f"import os; os.kill({worker}, 9)")
    records = job.finish()
    assert [one["cause"] for one in json.loads(machine.get("jitc", "report", "--json"))["recoveries"]] == [
        "worker-death"
    ]
    assert_identical(records, reference(SCRIPT, "cuda"))
    machine.get("systemctl", "restart", UNIT)  # the keeper ends with the service, which has no job
    machine.install(SECOND)
    machine.get(f"{LIB}/trees", "tidy")
    assert machine.trees() == {SECOND}
    machine.purge()


def test_another_protocol_waits_for_the_end_of_the_jobs(machine: Machine, reference: Reference) -> None:
    machine.install(FIRST)
    machine.start_service()
    old, job, before = machine.tree(), Program(machine), machine.main_pid()
    job.goes_to(3)
    assert "has another protocol" in machine.install(OTHER)
    assert machine.main_pid() == before and machine.trees() == {FIRST, OTHER}
    machine.get("systemctl", "kill", "--kill-whom=main", "--signal=KILL", UNIT)
    until(lambda: machine.serves(FIRST, before), 90, "another service of the old version serves")
    job.goes_to(7)
    assert {one["job"] for one in machine.status(old)} == {JOB}
    assert_identical(job.finish(), reference(SCRIPT, "cuda"))
    until(lambda: not machine.status(old), 30, "the sessions have ended")
    before = machine.main_pid()
    machine.get("systemctl", "restart", UNIT)
    assert machine.serves(OTHER, before) and machine.get("jitc", "status")
    machine.purge()


def test_an_upgrade_to_another_protocol_without_a_job(machine: Machine) -> None:
    machine.install(FIRST)
    machine.start_service()
    before = machine.main_pid()
    machine.install(OTHER)
    assert machine.serves(OTHER, before) and machine.trees() == {OTHER}
    machine.purge()


def test_a_removal_beside_a_service_that_does_not_answer(machine: Machine) -> None:
    """A refusal, since nobody can say what it serves; once the service goes on, the package can be removed."""
    machine.install(FIRST)
    machine.start_service()
    pid = machine.main_pid()
    machine.get("python3", "-c", f"import os; os.kill({pid}, 19)")
    refused = machine.run("apt-get", "-q", "remove", "-y", "jitc")
    assert refused.status and f"in use by the service of process {pid}, which does not answer" in refused.said
    assert "JITC_REMOVE=force" in refused.said and machine.main_pid() == pid
    machine.get("python3", "-c", f"import os; os.kill({pid}, 18)")
    machine.purge()


def test_a_forced_removal_ends_the_jobs(machine: Machine) -> None:
    machine.install(FIRST)
    machine.start_service()
    job = Program(machine, JITC_SERVICE_TIMEOUT="5")
    job.goes_to(2)
    machine.get("apt-get", "-q", "remove", "-y", "jitc", JITC_REMOVE="force")
    assert machine.main_pid() == 0
    job.pace.grant(STEPS)
    assert job.process.wait(patient(200)) != 0
    machine.purge()
