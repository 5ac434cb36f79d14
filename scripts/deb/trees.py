#!/usr/bin/python3 -I
"""The folders of versions of jitc that the Debian package has installed: /usr/lib/jitc/VERSION.

    trees add | upgrade-service | tidy | users | stop | stop-now | serve OPTION ...

Called by: the package's maintainer scripts and the systemd unit; installed as /usr/lib/jitc/trees. dpkg replaces
/usr/lib/jitc/package at an upgrade. Nothing runs from there: each version runs from hard links to its files in a folder
with its name. Promises: a folder stays as long as a process uses it, and never changes; `current` names the newest one;
the unit runs a version that the keeper of its socket accepts, if there is one; nothing but the standard library is
imported, and one line says what failed.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/usr/lib/jitc")
PACKAGE, CURRENT = ROOT / "package", ROOT / "current"
#: Files of each version: its name, and the versions of all that a service and its keeper must agree on.
NAME, VERSIONS = "name", "versions"
UNIT, SOCKET_UNIT, SOCKET = "jitc-proxyd.service", "jitc-proxyd.socket", "/run/jitc/proxyd.sock"
#: Time for another service to become ready, and for one that is ended at once.
READY_SECONDS, END_SECONDS = 180.0, 30.0
LOOK_SECONDS = 0.2
#: Values of Restart= with which systemd starts a killed service again.
RESTARTS = ("always", "on-failure", "on-abnormal", "on-abort")


class Failed(Exception):
    """A command cannot be done; the text is one line for the administrator."""


# -- folders --------------------------------------------------------------------------------------


def add() -> None:
    """Makes the folder of the version in PACKAGE, or mends it, and has `current` name it."""
    tree = ROOT / (PACKAGE / NAME).read_text().strip()
    if tree.is_dir():
        _link(PACKAGE, tree)
    else:
        made = ROOT / f".{tree.name}.new"
        shutil.rmtree(made, ignore_errors=True)
        _link(PACKAGE, made)
        _compile(made, tree)
        made.rename(tree)
    new = ROOT / ".current.new"
    new.unlink(missing_ok=True)
    new.symlink_to(tree.name)
    new.replace(CURRENT)


def _link(source: Path, target: Path) -> None:
    """Makes hard links to all files of a folder, or copies where the file system has no such links."""
    target.mkdir(mode=0o755, exist_ok=True)
    for one in sorted(source.iterdir()):
        if one.is_dir() and not one.is_symlink():
            _link(one, target / one.name)
            continue
        new = target / f".{one.name}.new"
        new.unlink(missing_ok=True)
        try:
            os.link(one, new, follow_symlinks=False)
        except OSError:
            shutil.copy2(one, new, follow_symlinks=False)
        new.replace(target / one.name)
        new.unlink(missing_ok=True)  # rename(2) leaves it if both are links to one file


def _compile(made: Path, tree: Path) -> None:
    """Compiles Python code, which users cannot write there. A file that is for another Python is no error."""
    words = ["-m", "compileall", "-q", "-s", str(made), "-p", str(tree)]
    folders = [str(made / one) for one in ("packages", "lib/python3")]
    subprocess.run(
        [str(made / "bin/python3"), *words, *folders], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )


def tidy() -> None:
    """Removes folders of versions that nothing uses any more."""
    kept = {_current(), PACKAGE}
    used = {one.tree for one in _processes()}
    for one in sorted(ROOT.iterdir()):
        if one.is_dir() and not one.is_symlink() and one not in kept and one not in used:
            shutil.rmtree(one)


def _current() -> Path:
    return ROOT / os.readlink(CURRENT)


def _versions(tree: Path) -> str | None:
    """Returns None if the folder is not there."""
    try:
        return (tree / VERSIONS).read_text()
    except OSError:
        return None


# -- processes ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Process:
    """A process of this machine that uses a version's folder. runs: Python of this folder is its program."""

    pid: int
    words: tuple[str, ...]
    tree: Path
    runs: bool

    def is_service(self) -> bool:
        commands = (("-m", "jitc.proxy.commands.proxyd"), (str(self.tree / "bin/jitc-proxyd"),))
        return self.runs and any(self.words[1 : 1 + len(one)] == one for one in commands)

    def is_keeper(self) -> bool:
        return self.runs and self.words[1:3] == ("-m", "jitc.proxy.keeper")


def _processes() -> Iterator[Process]:
    """Yields the processes that use a version: its Python, a library, or its path in their environment."""
    root = ROOT.stat()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            words = tuple((entry / "cmdline").read_bytes().decode(errors="replace").rstrip("\0").split("\0"))
            seen = os.stat(f"{entry}/root{ROOT}")
            if (seen.st_dev, seen.st_ino) != (root.st_dev, root.st_ino):
                continue  # a container with files of its own
            places = [words[0].encode(), (entry / "environ").read_bytes(), (entry / "maps").read_bytes()]
        except OSError:
            continue  # it has ended, or is a thread of the kernel, or another user's
        for number, text in enumerate(places):
            for tree in _named_in(text):
                yield Process(int(entry.name), words, tree, number == 0)
            if number == 0 and _named_in(text):
                break


def _named_in(text: bytes) -> set[Path]:
    """Returns the folders of versions whose paths are in a text."""
    before = f"{ROOT}/".encode()
    names = {part.split(b"/", 1)[0].split(b"\0", 1)[0] for part in text.split(before)[1:]}
    found = {ROOT / os.fsdecode(one) for one in names if b"\n" not in one and b" " not in one}
    return {one for one in found if one not in (PACKAGE, CURRENT) and (one / NAME).is_file()}


# -- the service ----------------------------------------------------------------------------------


def serve(words: list[str]) -> None:
    """Becomes the service: of the current version, or of one that the keeper of its socket accepts."""
    path = next((words[at + 1] for at, word in enumerate(words[:-1]) if word == "--socket"), SOCKET)
    current, note = _current(), Path(f"{path}.versions")
    tree = _for_keeper(path, note, current)
    if tree != current:
        print(f"jitc-proxyd: {tree.name} serves until its jobs have ended: {current.name} cannot take them over",
              file=sys.stderr, flush=True)  # fmt: skip
    with contextlib.suppress(OSError):  # a drop-in may have another folder
        note.write_text(_versions(tree) or "")
    python = str(tree / "bin/python3")
    os.execv(python, [python, str(tree / "bin/jitc-proxyd"), *words])


def _for_keeper(path: str, note: Path, current: Path) -> Path:
    """Returns the current version, unless a keeper of other versions lives: then the newest one that it accepts. note:
    has the versions of the last service on this socket. The sandbox hides the keeper's process."""
    try:
        wanted = note.read_text()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one, contextlib.suppress(BlockingIOError):
            one.setblocking(False)
            one.connect(f"{path}.d/keeper")
    except OSError:  # no service has been here, or its keeper has ended
        return current
    trees = [one for one in ROOT.iterdir() if not one.is_symlink() and one != PACKAGE and one.name[0] != "."]
    fit = [one for one in trees if _versions(one) == wanted]
    return current if current in fit else max(fit, key=lambda one: one.stat().st_ctime_ns, default=current)


def upgrade_service() -> None:
    """Has the current version take over from the running service, whose jobs go on. Does nothing without one."""
    before = _main_pid()
    if not before or _property("ActiveState") != "active":
        return
    running = next((one.tree for one in _processes() if one.pid == before and one.runs), None)
    current = _current()
    if running is None:
        print("jitc: the running service is not this package's, and goes on as it is")
    elif running == current:
        return
    elif _versions(running) == _versions(current):
        _take_over(before)
    elif _jobs(running) == {} and all(one.runs for one in _processes()):
        _systemctl("restart", UNIT)
    else:
        print(f"jitc: the service of {running.name} goes on, also for new jobs: {current.name} has another protocol. "
              f"When no job runs, systemctl restart {UNIT} starts that one")  # fmt: skip


def _take_over(before: int) -> None:
    """Kills the service alone: systemd starts another one, which takes over from the keeper. SIGTERM, as in a restart,
    would wait for the jobs, take no new ones, and end them after a time."""
    if _property("Restart") not in RESTARTS:
        print("jitc: systemd would not start a killed service again (Restart=), so the former version goes on serving")
        return
    _systemctl("kill", "--kill-who=main", "--signal=KILL", UNIT)

    def ready() -> bool:
        return _property("ActiveState") == "active" and _main_pid() not in (0, before)

    if _waited(ready, READY_SECONDS):
        print(f"jitc: the service of {_current().name} has taken over the running one")
    else:
        print(f"jitc: the service of {_current().name} is not ready; programs train on without it: "
              f"journalctl -u {UNIT}", file=sys.stderr)  # fmt: skip


def stop(now: bool) -> None:
    """Stops the service, and its socket, at which it would be started again. now: a second signal ends the service at
    once, and the jobs with it."""
    if not os.path.isdir("/run/systemd/system"):
        return
    _systemctl("stop", *(["--no-block"] if now else []), SOCKET_UNIT, UNIT)

    def ended() -> bool:
        if pid := _main_pid():
            _systemctl("kill", "--kill-who=main", "--signal=TERM", UNIT)
        return not pid

    if now and not _waited(ended, END_SECONDS):
        _systemctl("kill", "--signal=KILL", UNIT)


def users() -> None:
    """Raises Failed if a job runs, or may run, or anything else uses the package beside its idle service."""
    own, found, processes = _main_pid(), set(), list(_processes())
    services = {one.pid for one in processes if one.is_service()}
    # Without a service, the question would have systemd start one.
    jobs = _jobs(_current()) if own in services else {}
    if jobs is None:
        found.add(f"the service of process {own}, which does not answer: its jobs are not known")
    for one in processes:
        if one.pid in services - {own}:
            found.add(f"a jitc-proxyd of process {one.pid}")
        elif one.is_keeper() and not services:
            found.add(f"a jitc-keeper of process {one.pid}, whose service has ended")
        elif not one.runs and one.pid not in (jobs or {}):
            found.add(f"process {one.pid} ({one.words[0]})")
    if jobs or found:
        names = [f"job {name}" for name in sorted(set((jobs or {}).values()))]
        raise Failed(f"in use by {', '.join([*names, *sorted(found)])}")


def _jobs(tree: Path) -> dict[int, str] | None:
    """Returns the programs of the unit's service with the names of their jobs; None if no service answers."""
    command = [str(tree / "bin/python3"), str(tree / "bin/jitc"), "status", "--json", "--socket", SOCKET]
    patience = {**os.environ, "JITC_SERVICE_TIMEOUT": "0"}  # a service that does not answer is not waited for
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=patience)
    if done.returncode:
        return None
    return {one["pid"]: one["job"] for gpu in json.loads(done.stdout)["gpus"] for one in gpu["sessions"]}


def _main_pid() -> int:
    """Returns the process of the unit's service; 0: it does not run, or there is no systemd."""
    said = _property("MainPID")
    return int(said) if said.isdecimal() else 0


def _property(name: str) -> str:
    if not os.path.isdir("/run/systemd/system"):
        return ""
    done = subprocess.run(
        ["systemctl", "show", f"--property={name}", "--value", UNIT], capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def _systemctl(*words: str) -> None:
    subprocess.run(["systemctl", *words], check=False)


def _waited(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK_SECONDS)
    return True


COMMANDS: dict[str, Callable[[], None]] = {
    "add": add, "tidy": tidy, "users": users, "upgrade-service": upgrade_service,
    "stop": lambda: stop(now=False), "stop-now": lambda: stop(now=True),
}  # fmt: skip


def main(words: list[str]) -> int:
    try:
        if words[:1] == ["serve"]:
            serve(words[1:])
        elif len(words) == 1 and words[0] in COMMANDS:
            COMMANDS[words[0]]()
        else:
            raise Failed(f"use {', '.join(COMMANDS)} or serve")
    except (Failed, OSError, ValueError) as error:
        with contextlib.suppress(OSError):
            print(f"jitc: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
