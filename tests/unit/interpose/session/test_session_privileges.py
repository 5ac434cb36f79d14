"""A program with more rights than its caller (set-uid): the caller's environment does not choose its service."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from session_binding import TRANSPORT

ROOT = Path(__file__).parents[4]
NOBODY = 65534
#: The loader takes no LD_PRELOAD for such a program, so it opens the library itself.
PROGRAM = """
#include <dlfcn.h>
#include <stdio.h>
#include <sys/auxv.h>
int main(int, char** arguments) {
  printf("%lu\\n", getauxval(AT_SECURE));
  void* const library = dlopen(arguments[1], RTLD_NOW);
  if (!library) return puts(dlerror()), 2;
  int count = -1;
  reinterpret_cast<int (*)(int*)>(dlsym(library, "cudaGetDeviceCount"))(&count);
}
"""


@pytest.fixture
def program(folder: Path) -> list[str]:
    """Where every user can run it."""
    folder.chmod(0o755)
    for library in TRANSPORT.glob("libjitc_*.so"):
        shutil.copy(library, folder)
    (folder / "p.cpp").write_text(PROGRAM)
    subprocess.run(["c++", "-o", str(folder / "p"), str(folder / "p.cpp"), "-ldl"], check=True, timeout=120)
    return [str(folder / "p"), str(folder / "libjitc_interpose.so")]


@pytest.fixture
def listener(folder: Path) -> Iterator[socket.socket]:
    """What the caller would like the program to talk to."""
    (folder / "jitc").mkdir(mode=0o755)
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(folder / "jitc" / "proxyd.sock"))
        os.chmod(one.getsockname(), 0o777)
        one.listen()
        yield one


def environment(variable: str, listener: socket.socket) -> dict[str, str]:
    path = Path(listener.getsockname())
    values = {"JITC_SOCKET": str(path), "XDG_RUNTIME_DIR": str(path.parents[1])}
    kept = {name: value for name, value in os.environ.items() if name not in (*values, "LD_PRELOAD")}
    return kept | {variable: values[variable]}


def run(program: list[str], env: dict[str, str]) -> str:
    done = subprocess.run(program, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split()[0]


def give_rights(program: Path) -> None:
    """So that whoever runs it has another user's or group's rights."""
    if os.geteuid() == 0:
        os.chown(program, NOBODY, -1)
        program.chmod(0o4755)
        return
    groups = [group for group in os.getgroups() if group != os.getegid()]
    if not groups:
        pytest.skip("needs root, or a user with two groups")
    os.chown(program, -1, groups[0])
    program.chmod(0o2755)


@pytest.mark.parametrize("variable", ["JITC_SOCKET", "XDG_RUNTIME_DIR"])
def test_an_ordinary_program(variable: str, program: list[str], listener: socket.socket) -> None:
    """That the variables are heard otherwise is what makes the next test mean something."""
    came = threading.Event()

    def accept() -> None:
        link, _ = listener.accept()
        came.set()
        link.close()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    assert run(program, environment(variable, listener)) == "0"
    assert came.wait(10)
    thread.join(10)


@pytest.mark.parametrize("variable", ["JITC_SOCKET", "XDG_RUNTIME_DIR"])
def test_a_set_uid_program(variable: str, program: list[str], listener: socket.socket) -> None:
    give_rights(Path(program[0]))
    if run(program, environment(variable, listener)) != "1":
        pytest.skip("programs get no rights from their file here (a nosuid mount, or no_new_privs)")
    listener.setblocking(False)
    with pytest.raises(BlockingIOError):
        listener.accept()


def test_nothing_that_programs_load_reads_the_environment_otherwise() -> None:
    folders = ("interpose/api", "interpose/session", "protos/transport", "client_shim/native")
    sources = [path for folder in folders for path in (ROOT / folder).rglob("*.cpp")]
    text = {path: path.read_text() for path in sources}
    assert any("secure_getenv" in one for one in text.values())
    found = [path for path, one in text.items() if re.search(r"(?<!secure_)getenv\(|\benviron\b", one)]
    walks, ancestors = sorted(found, key=lambda path: path.name != "library_environment.cpp")
    assert walks.name == "library_environment.cpp" and "AT_SECURE" in text[walks], "it asks itself first"
    # Another process's, and only for a variable that secure_getenv has given.
    assert ancestors.name == "launcher.cpp" and '"environ"' in text[ancestors]
