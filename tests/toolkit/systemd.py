"""A machine with systemd as its first process: a container of this machine's own files, in which the units of docker/
run as they are installed.

Called by: tests of the units. Promises: the checkout lies at /opt/jitc, where the units look for it; nothing but the
units that a test needs is there, so no other service of Debian's starts; the machine has no network, cannot write to
the checkout, and is gone with the podman that it was made by.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import IO

from .containers import OUT, SOCKET, Container, Podman
from .containers import why_not as why_no_containers
from .job import PRELOAD, ROOT, Script
from .pace import PACE, PACED, Pace
from .ranks import __file__ as RANKS
from .record import Record, read_records
from .service import BIN
from .waiting import patient, until

SYSTEMD = Path("/usr/lib/systemd/systemd")
UNIT, SOCKET_UNIT = "jitc-proxyd.service", "jitc-proxyd.socket"
DOCKER = ROOT / "docker"
CONFIGURATION = "etc/jitc/jitc.toml"
#: One that the machine has, if this one has it, and the service may not open.
DEVICE = "/dev/fuse"
#: A user that is not root, and what its manager needs of the machine.
USER = 1000
_UNITS = Path("/usr/lib/systemd/system")
#: Debian's units that the machine has. All others would do something to it, or to the machine that it runs on.
_NEEDED = (
    "basic.target", "multi-user.target", "paths.target", "shutdown.target", "slices.target", "sockets.target",
    "sysinit.target", "timers.target", "umount.target", "systemd-journald.service", "systemd-journald.socket",
    "systemd-journald-dev-log.socket",
)  # fmt: skip
_USERS = f"root:x:0:0::/root:/bin/sh\nann:x:{USER}:{USER}::/home/ann:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n"
_GROUPS = f"root:x:0:\nsystemd-journal:x:101:\nann:x:{USER}:\nnogroup:x:65534:\n"
#: The manager of a user, without a login. The folder is there on a machine that has sandboxes of the system's manager.
_MANAGER = f"""
[Service]
Type=notify
User={USER}
Delegate=yes
KillMode=mixed
RuntimeDirectory=user/{USER}
RuntimeDirectoryMode=0700
Environment=XDG_RUNTIME_DIR=/run/user/{USER} SYSTEMD_UNIT_PATH=/etc/systemd/user
ExecStartPre=+/bin/mkdir -p /run/systemd/unit-root
ExecStart={SYSTEMD} --user --unit=basic.target
"""
#: The first process. A machine with the older control groups gets the newer ones, which systemd can do more with.
_FIRST = f"""
if [ ! -e /sys/fs/cgroup/cgroup.controllers ]; then
  umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup || exit 1
fi
exec {SYSTEMD} --unit=multi-user.target
"""
START_SECONDS = 90.0


def why_not() -> str:
    """Returns why there is no such machine here; empty: there is."""
    if not SYSTEMD.exists():
        return "there is no systemd (Debian's package)"
    return why_no_containers()


class Machine:
    """A running one. Its service is not started yet. dropins: of the unit, by name."""

    def __init__(self, podman: Podman, dropins: dict[str, str]) -> None:
        self._podman, self.root = podman, podman.out.parent / "machine"
        _make_root(self.root)
        self.install(UNIT, (DOCKER / UNIT).read_text())
        self.install(f"{UNIT}.d/50-python.conf", _python_visible())
        for name, text in dropins.items():
            self.install(f"{UNIT}.d/{name}", text)
        self.configure("gpus = 2\n")
        places = dict.fromkeys(("/usr", sys.base_prefix, str(ROOT)))
        mounts = [word for one in places for word in ("-v", f"{one}:{one}:ro")]
        variables = {"SYSTEMD_UNIT_PATH": "/etc/systemd/system", "PATH": f"{BIN}:/usr/bin", "SYSTEMD_PAGER": ""}
        given = [word for name, value in variables.items() for word in ("-e", f"{name}={value}")]
        given += ["--device", DEVICE] * os.path.exists(DEVICE)
        podman.run(
            "run", "-d", "--name", "machine", "--systemd=always", "--network", "none", "--cap-add", "all",
            "--security-opt", "seccomp=unconfined", "--ulimit", "host", *given, *mounts,
            "-v", f"{podman.out}:{OUT}", "--cgroupns=private", "--rootfs", str(self.root), "/bin/sh", "-c", _FIRST,
        )  # fmt: skip
        self.container = Container(podman, "machine")
        until(lambda: self.systemctl("is-system-running", check=False) == "running", 30, "systemd runs")

    def install(self, path: str, text: str, kind: str = "system") -> None:
        """Writes a unit, or a drop-in of one."""
        place = self.root / "etc/systemd" / kind / path
        place.parent.mkdir(exist_ok=True)
        place.write_text(text)

    def configure(self, text: str) -> None:
        """Writes the service's file of options."""
        file = self.root / CONFIGURATION
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)

    def configure_user(self, text: str) -> None:
        """Writes the user's file of options."""
        folder = self.root / "home/ann/.config"
        (folder / "jitc").mkdir(parents=True)
        (folder / "jitc/jitc.toml").write_text(text)
        for one in (folder, folder / "jitc", folder / "jitc/jitc.toml"):
            os.chown(one, USER, USER)

    def execute(self, *command: str, check: bool = True) -> str:
        return self.container.execute(*command, check=check).strip()

    def systemctl(self, *words: str, check: bool = True) -> str:
        return self.execute("systemctl", *words, check=check)

    def as_user(self, *command: str, user: int = USER, check: bool = True) -> str:
        """Runs a command as another user of the machine."""
        options = ("--user", str(user), "-e", f"XDG_RUNTIME_DIR=/run/user/{user}")
        words = ("exec", *options, self.container.name, *command)
        return self._podman.run(*words, check=check, seconds=patient(START_SECONDS)).strip()

    def of_user(self, *words: str) -> str:
        """Runs systemctl for the user's own manager, which is user-manager.service."""
        return self.as_user("systemctl", "--user", *words)

    def property(self, name: str, unit: str = UNIT) -> str:
        return self.systemctl("show", "-P", name, unit)

    def start(self) -> None:
        """Starts the service, which is ready when this returns."""
        self._podman.run("exec", self.container.name, "systemctl", "start", UNIT, seconds=patient(START_SECONDS))

    def add_user(self, name: str, number: int, *words: str) -> None:
        """Makes a user, without a home folder. words: more of useradd's."""
        self.execute("/usr/sbin/useradd", "--uid", str(number), "--user-group", "--no-create-home", *words, name)

    def main_pid(self) -> int:
        """Returns the service's process, as the machine numbers it; 0: there is none."""
        return int(self.property("MainPID"))

    def kill(self, signal: str) -> None:
        """Sends a signal to the service alone."""
        self.systemctl("kill", "--kill-whom=main", f"--signal={signal}", UNIT)

    def is_another(self, before: int) -> bool:
        """Returns whether the service is ready, in another process than this one."""
        return self.property("ActiveState") == "active" and self.main_pid() not in (0, before)

    def journal(self) -> str:
        return self.execute("journalctl", "--no-pager", "-o", "cat", check=False)

    def workers(self, user: int = 0) -> list[int]:
        """Returns the workers that have a session, as the machine numbers them. user: whose service it is."""
        said = self.as_user("jitc", "status", "--json", "--socket", SOCKET, user=user)
        return [one["worker_pid"] for gpu in json.loads(said)["gpus"] for one in gpu["sessions"]]

    def lost_workers(self, user: int = 0) -> int:
        """Returns how many the service has recovered."""
        said = self.as_user("jitc", "report", "--json", "--socket", SOCKET, user=user)
        return sum(one["cause"] == "worker-death" for one in json.loads(said)["recoveries"])

    def of_process(self, pid: int, name: str) -> str:
        """Returns a line of the process's status, without its name."""
        lines = self.execute("cat", f"/proc/{pid}/status").splitlines()
        return next(one.partition(":")[2].strip() for one in lines if one.startswith(f"{name}:"))

    def namespace(self, pid: int, kind: str) -> str:
        return self.execute("readlink", f"/proc/{pid}/ns/{kind}")

    def in_group(self, script: str) -> str:
        """Runs a shell's script in the service's control group, and says what it says."""
        enter = f"echo $$ > /sys/fs/cgroup/system.slice/{UNIT}/cgroup.procs"
        return self.execute("sh", "-c", f"{enter} && {{ {script}; }} 2>&1", check=False)

    def inside(self, pid: int, script: str) -> str:
        """Runs a shell's script with the files that the process sees, and says what it says."""
        return self.execute("nsenter", f"--mount=/proc/{pid}/ns/mnt", "sh", "-c", f"{{ {script}; }} 2>&1", check=False)


class Program:
    """A training program in the machine, outside of the service's sandbox, step by step."""

    def __init__(
        self, machine: Machine, podman: Podman, script: Script, user: int = 0, socket: str = "", *, name: str = ""
    ) -> None:
        """name: of its folder, where several run at once."""
        self._folder, place = podman.out / name, f"{OUT}/{name}".rstrip("/")
        self.pace = Pace(self._folder, script.ranks)
        if name:
            os.chown(self._folder, user, user)
        self._log = self._folder / "program.log"
        variables = {
            "LD_PRELOAD": str(PRELOAD),
            PACE: place,
            "OMP_NUM_THREADS": "1",
            "PYTHONUNBUFFERED": "1",
        }
        variables |= {"PYTHONDONTWRITEBYTECODE": "1", **({"JITC_SOCKET": socket} if socket else {})}
        given = [f"{name}={value}" for name, value in variables.items()]
        record = ["--json", f"{place}/record.json"]
        around = [str(ROOT / one) for one in PACED]
        program = [*around, str(ROOT / "examples" / script.name), "--device", "cuda", *script.arguments, *record]
        ranks = [sys.executable, RANKS, str(script.ranks), *program]
        words = ["exec", "--user", str(user), machine.container.name, "env", *given, *ranks]
        with self._log.open("wb") as log:
            self._process = _exec(podman, words, log)

    def goes_to(self, step: int) -> None:
        """Lets it make its steps up to this one, and waits until it has."""
        self.pace.grant(step)
        until(lambda: self.pace.waits() or self._process.poll() is not None, 150, f"step {step}")
        assert self._process.poll() is None, self.output()

    def finish(self, steps: int) -> list[Record]:
        """Lets it make all its steps. Returns what each rank has computed."""
        self.pace.grant(steps)
        status = self._process.wait(patient(150))
        assert status == 0, self.output()
        return read_records(self._folder)

    def output(self) -> str:
        return self._log.read_text(errors="replace")[-6000:]


class Steps:
    """A program of one rank in the machine, which does a step for each line that it is sent, and answers it."""

    def __init__(
        self, machine: Machine, podman: Podman, program: Path, *arguments: object, env: dict[str, str]
    ) -> None:
        given = [f"{name}={value}" for name, value in {**env, "LD_PRELOAD": str(PRELOAD)}.items()]
        words = [sys.executable, str(program), *map(str, arguments)]
        self._process = subprocess.Popen(
            [*podman.command, "exec", "-i", machine.container.name, "env", *given, *words],
            env=podman.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
        )  # fmt: skip

    def step(self) -> str:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write("\n")
        return self._process.stdout.readline().strip()

    def finish(self) -> int:
        """Returns its exit status."""
        self._process.communicate(timeout=patient(60))
        return self._process.returncode


def socket_unit() -> str:
    """Returns the unit of the service's socket."""
    return (DOCKER / SOCKET_UNIT).read_text()


def software() -> str:
    """Returns the drop-in for software GPUs."""
    return (DOCKER / "jitc-proxyd-software.conf").read_text()


def several_users() -> str:
    """Returns the drop-in for several users."""
    return (DOCKER / "jitc-proxyd-users.conf").read_text()


def _exec(podman: Podman, words: list[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*podman.command, *words], env=podman.env, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
    )


def _python_visible() -> str:
    """Returns a drop-in that shows the tests' Python to the service, where a home folder has it, which is hidden."""
    homes = ("/root/", "/home/", "/run/user/")
    if not f"{sys.base_prefix}/".startswith(homes):
        return ""
    return f"[Service]\nProtectHome=tmpfs\nBindReadOnlyPaths={sys.base_prefix}\n"


def _make_root(root: Path) -> None:
    folders = (
        "dev", "etc/systemd/system/sysinit.target.wants", "etc/systemd/system/sockets.target.wants",
        "etc/systemd/user", "home/ann", "opt", "proc", "root", "run", "sys", "usr", "var/log/journal",
    )  # fmt: skip
    for one in (*folders, *(place.lstrip("/") for place in (sys.base_prefix, str(ROOT), OUT))):
        (root / one).mkdir(parents=True, exist_ok=True)
    for one in ("tmp", "var/tmp"):
        (root / one).mkdir()
        (root / one).chmod(0o1777)
    for one in ("bin", "lib", "lib64", "sbin"):
        (root / one).symlink_to(f"usr/{one}")
    (root / "opt/jitc").symlink_to(ROOT)
    (root / "var/run").symlink_to("../run")
    os.chown(root / "home/ann", USER, USER)
    for name, text in {"passwd": _USERS, "group": _GROUPS, "machine-id": "", "os-release": ""}.items():
        (root / "etc" / name).write_text(text)
    if os.path.exists("/etc/ld.so.cache"):
        shutil.copy("/etc/ld.so.cache", root / "etc")
    system = root / "etc/systemd/system"
    for one in _NEEDED:
        (system / one).symlink_to(_UNITS / one)
    for target, one in (("sysinit", "systemd-journald.service"), ("sockets", "systemd-journald.socket")):
        (system / f"{target}.target.wants" / one).symlink_to(_UNITS / one)
    (system / "user-manager.service").write_text(_MANAGER)
    for one in ("basic", "paths", "shutdown", "sockets", "timers"):
        (root / f"etc/systemd/user/{one}.target").symlink_to(f"/usr/lib/systemd/user/{one}.target")
