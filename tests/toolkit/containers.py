"""Real containers, by podman, with storage of their own: nothing of them is left, and no registry is asked.

Their image is made of the machine itself. It holds folders, a user and settings as docker/Dockerfile has them; its
own files, this checkout and its Python are mounted into it, and cannot be written to. So what runs in it is what
the other tests test.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .job import PRELOAD, ROOT
from .leaks import MARK, marked_processes, new_mark
from .service import BIN
from .waiting import until

USER = 1000
SOCKET = "/run/jitc/proxyd.sock"
OUT = "/out"
#: Folders of the machine that a container sees.
MACHINE = ("/usr", sys.base_prefix, str(ROOT))
_CONFIGURATION = """
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
"""
#: Images, as in docker/pod.yaml -> what docker/Dockerfile says of them.
IMAGES = {
    "jitc-service": [f'ENTRYPOINT ["{BIN}/jitc-proxyd", "--respawn"]'],
    "jitc-train": [f"ENV LD_PRELOAD={PRELOAD}", "ENV OMP_NUM_THREADS=1", f"WORKDIR {ROOT}"],
}
_COMMON = [f"ENV PATH={BIN}:/usr/bin", f"ENV JITC_SOCKET={SOCKET}", "ENV PYTHONDONTWRITEBYTECODE=1", f"USER {USER}"]


@contextlib.contextmanager
def private_podman(prefix: str) -> Iterator[Podman]:
    """In a folder of its own, whose name begins so. In the end all of it is gone; what containers said is printed."""
    mark, folder = new_mark(), Path(tempfile.mkdtemp(prefix=prefix))
    one = Podman(folder, {MARK: mark})
    try:
        yield one
    finally:
        print(one.close())
        shutil.rmtree(folder)
    until(lambda: not marked_processes(mark), 20, "all processes have ended")


class Podman:
    """close() ends and removes everything."""

    def __init__(self, folder: Path, mark: dict[str, str]) -> None:
        self._folder = folder
        configuration = folder / "containers.conf"
        configuration.write_text(_CONFIGURATION)
        places = {"root": "storage", "runroot": "run", "tmpdir": "tmp"}
        self.command = ["podman", *(f"--{option}={folder / name}" for option, name in places.items())]
        self.env = {**os.environ, **mark, "CONTAINERS_CONF": str(configuration)}
        self.out = folder / "out"
        self.out.mkdir()
        os.chown(self.out, USER, USER)

    def run(self, *words: str, seconds: float = 60.0, check: bool = True) -> str:
        """What the command says on standard output."""
        done = subprocess.run(
            [*self.command, *words], env=self.env, capture_output=True, text=True, timeout=seconds, check=False
        )
        assert not check or done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
        return done.stdout

    def make_images(self) -> str:
        """Returns why they cannot be run here; empty: they can."""
        archive = self._folder / "machine.tar"
        archive.write_bytes(_machine())
        try:
            for name, settings in IMAGES.items():
                changes = [word for one in (*_COMMON, *settings) for word in ("--change", one)]
                self.run("import", "-q", *changes, str(archive), f"localhost/{name}:latest")
            self.run("run", "--rm", "--network", "none", "-v", "/usr:/usr:ro", "localhost/jitc-train", "/usr/bin/true")
        except (AssertionError, subprocess.TimeoutExpired) as error:
            return str(error)
        return ""

    def start(self, name: str, image: str, *command: str, options: tuple[str, ...] = ()) -> Container:
        """As docker/compose.yaml does: a read-only root, a user that is not root, and the volume with the socket.
        options: more of podman's."""
        mounts = [word for one in MACHINE for word in ("-v", f"{one}:{one}:ro")]
        self.run(
            "run", "-d", "--name", name, "--read-only", "--cap-drop", "all", "--security-opt", "no-new-privileges",
            "--network", "none", "-v", "socket:/run/jitc", "-v", f"{self.out}:{OUT}", *mounts, *options,
            f"localhost/{image}", *command,
        )  # fmt: skip
        return Container(self, name)

    def play(self, pod: dict[str, Any], command: list[str]) -> None:
        """A pod as docker/pod.yaml describes one, with another command of its program.

        This podman knows no native sidecars: the service becomes an ordinary container, which does not end by itself,
        and the program, which begins at the same time, waits for it as Kubernetes would have it wait.
        """
        spec = pod["spec"]
        service, train = spec.pop("initContainers")[0], spec["containers"][0]
        assert service.pop("restartPolicy") == "Always"
        probe = shlex.join(service.pop("startupProbe")["exec"]["command"])
        until_ready = f'until {probe} > /dev/null 2>&1; do sleep 1; done; exec "$@"'
        train["command"], train["args"] = ["sh", "-c", until_ready, "sh"], command
        spec["containers"] = [service, train]
        for one in spec["containers"]:
            one["volumeMounts"] += [
                {"name": f"machine{n}", "mountPath": path, "readOnly": True} for n, path in enumerate(MACHINE)
            ]
            one["volumeMounts"].append({"name": "out", "mountPath": OUT})
        spec["volumes"] += [{"name": f"machine{n}", "hostPath": {"path": path}} for n, path in enumerate(MACHINE)]
        spec["volumes"].append({"name": "out", "hostPath": {"path": str(self.out)}})
        (self._folder / "pod.yaml").write_text(json.dumps(pod))  # YAML as well
        self.run("kube", "play", "--network", "none", str(self._folder / "pod.yaml"))

    def compose(self, commands: dict[str, list[str]]) -> Compose:
        """docker/compose.yaml, with commands of the test's; its images are these."""
        mounts = [f"{one}:{one}:ro" for one in MACHINE] + [f"{self.out}:{OUT}"]
        services = {
            name: {"command": command, "network_mode": "none", "volumes": mounts} for name, command in commands.items()
        }
        more = self._folder / "compose.json"  # YAML as well
        more.write_text(json.dumps({"services": services}))
        return Compose(self, more)

    def in_volume(self, name: str = "socket") -> list[str]:
        """What lies beside the service's socket."""
        return os.listdir(self.run("volume", "inspect", name, "--format", "{{.Mountpoint}}").strip())

    def close(self) -> str:
        """Ends and removes everything. Returns what the containers said."""
        names = self.run("ps", "-a", "--format", "{{.Names}}", check=False).split()
        said = "\n".join(f"== {name}\n{Container(self, name).output()[-4000:]}" for name in names)
        for words in (
            ("pod", "rm", "-f", "-a", "-t", "0"),
            ("rm", "-f", "-a", "-t", "0"),
            ("volume", "rm", "-a", "-f"),
        ):
            self.run(*words, check=False)
        self.run("rmi", "-a", "-f", check=False)
        return said


class Compose:
    """A project of podman-compose, which needs no daemon."""

    NAME = "sidecar"

    def __init__(self, podman: Podman, more: Path) -> None:
        self._podman = podman
        own = more.with_name("podman")  # with the storage of the test's
        own.write_text(f'#!/bin/sh\nexec {shlex.join(podman.command)} "$@"\n')
        own.chmod(0o755)
        files = ["-f", str(ROOT / "docker" / "compose.yaml"), "-f", str(more)]
        self._command = [str(BIN / "podman-compose"), "--podman-path", str(own), "-p", self.NAME, *files]

    def run(self, *words: str) -> None:
        done = subprocess.run(
            [*self._command, *words], env=self._podman.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"podman-compose {' '.join(words)}: {done.stdout}"

    def up(self, service: str) -> Container:
        self.run("up", "-d", "--no-build", service)
        return Container(self._podman, f"{self.NAME}_{service}_1")


class Container:
    """One that was started."""

    def __init__(self, podman: Podman, name: str) -> None:
        self._podman, self.name = podman, name

    def execute(self, *command: str, check: bool = True) -> str:
        return self._podman.run("exec", self.name, *command, check=check)

    def output(self) -> str:
        done = subprocess.run(
            [*self._podman.command, "logs", self.name], env=self._podman.env, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=60, check=False,
        )  # fmt: skip
        return done.stdout

    def state(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self._podman.run("inspect", self.name))[0]["State"]
        return document

    def pid(self) -> int:
        """Of its first process, as this machine has it."""
        return int(self.state()["Pid"])

    def has_ended(self) -> bool:
        return self.state()["Status"] == "exited"

    def status(self) -> dict[str, Any] | None:
        """What `jitc status` says in it; None while there is no service."""
        said = self.execute("jitc", "status", "--json", check=False)
        document: dict[str, Any] | None = json.loads(said) if said.startswith("{") else None
        return document

    def report(self) -> list[dict[str, Any]]:
        """What `jitc report` says in it, once there is a service: one without programs may be beginning anew."""

        def told() -> str | None:
            said = self.execute("jitc", "report", "--json", check=False)
            return said if said.startswith("{") else None

        found: list[dict[str, Any]] = json.loads(until(told, 60, "a service reports"))["recoveries"]
        return found


def children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def namespace(pid: int, kind: str = "pid") -> str:
    return os.readlink(f"/proc/{pid}/ns/{kind}")


def steps(output: str) -> int:
    return len(re.findall(r"^step ", output, re.MULTILINE))


def why_not() -> str:
    """Why there are no containers here; empty: there are."""
    for command in ("podman", "runc"):
        if shutil.which(command) is None:
            return f"there is no {command}"
    if os.geteuid() != 0:
        return "only root can make them of the machine's own files"
    return ""


def _machine() -> bytes:
    """An archive of folders into which the machine's are mounted, and what a service's image has beside them."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        folders = {
            "tmp": 0o1777,
            "var/tmp": 0o1777,
            "etc": 0o755,
            "proc": 0o755,
            "sys": 0o755,
            "dev": 0o755,
            "run": 0o755,
        }
        for name, mode in {**folders, "run/jitc": 0o700, OUT[1:]: 0o755, **{one[1:]: 0o755 for one in MACHINE}}.items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, mode
            entry.uid = entry.gid = USER if name == "run/jitc" else 0
            archive.addfile(entry)
        for name in ("bin", "lib", "lib64", "sbin"):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, f"usr/{name}"
            archive.addfile(entry)
        users = f"root:x:0:0::/:/bin/sh\njitc:x:{USER}:{USER}::/:/bin/sh\n".encode()
        entry = tarfile.TarInfo("etc/passwd")
        entry.size = len(users)
        archive.addfile(entry, io.BytesIO(users))
    return out.getvalue()
