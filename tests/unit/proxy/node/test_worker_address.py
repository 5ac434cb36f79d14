"""The socket of another user's worker: the service calls what that user has bound, and nothing else."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from jitc.proxy.keeper.owner import Owner
from jitc.proxy.node.workers.address import NOWHERE, Address
from jitc.proxy.node.workers.environment import of_workers

ANN = 1001
#: Listens as this user until its input ends.
LISTENS = """
import os, socket, sys
path, uid = sys.argv[1], int(sys.argv[2])
os.setresuid(uid, uid, uid)
with socket.socket(socket.AF_UNIX) as one:
    one.bind(path)
    one.listen()
    print("listens", flush=True)
    sys.stdin.read()
"""

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root serves other users")


@pytest.fixture
def folder() -> Iterator[Path]:
    """The folder of a user, beside a socket of root's."""
    with tempfile.TemporaryDirectory(prefix="jitc-test-") as made, socket.socket(socket.AF_UNIX) as roots:
        Path(made).chmod(0o755)
        roots.bind(f"{made}/roots")
        roots.listen()
        own = Path(made, "own")
        own.mkdir()
        os.chown(own, ANN, -1)
        yield own


def listens(path: Path, uid: int) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", LISTENS, str(path), str(uid)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "listens\n"
    return process


def answers(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as one:
        try:
            one.connect(path)
        except OSError:
            return False
        return True


def test_a_worker_of_the_services_own_user(tmp_path: Path) -> None:
    one = Address(str(tmp_path / "w1"), os.geteuid())
    assert one.path() == str(tmp_path / "w1")
    one.close()


@as_root
def test_what_the_user_has_bound(folder: Path) -> None:
    """It stays that socket, whatever gets its name later."""
    one, process = Address(str(folder / "w1"), ANN), listens(folder / "w1", ANN)
    assert answers(one.path())
    (folder / "w1").unlink()
    (folder / "w1").symlink_to(folder.parent / "roots")
    assert answers(one.path())
    process.communicate()
    assert not answers(one.path())
    descriptors = len(os.listdir("/proc/self/fd"))
    one.close()
    assert len(os.listdir("/proc/self/fd")) == descriptors - 1


@as_root
@pytest.mark.parametrize("what", ["link", "hard link", "another user's", "file", "nothing"])
def test_what_the_user_has_not_bound(what: str, folder: Path) -> None:
    assert answers(str(folder.parent / "roots"))
    path, process = folder / "w1", None
    if what == "link":
        path.symlink_to(folder.parent / "roots")
    elif what == "hard link":
        path.hardlink_to(folder.parent / "roots")
    elif what == "another user's":
        folder.chmod(0o777)
        process = listens(path, ANN + 1)
    elif what == "file":
        path.touch()
    descriptors = len(os.listdir("/proc/self/fd"))
    one = Address(str(path), ANN)
    assert one.path() == NOWHERE and not answers(one.path())
    assert len(os.listdir("/proc/self/fd")) == descriptors
    if process is not None:
        process.communicate()


def test_the_environment_of_workers() -> None:
    """The service's own user's has all; another one's what libraries need, and nothing of the service's user's."""
    service = {
        "PATH": "/bin", "LD_LIBRARY_PATH": "/lib", "LD_PRELOAD": "x", "JITC_SOCKET": "s", "HOME": "/root",
        "AWS_SECRET_ACCESS_KEY": "secret", "CUDA_CACHE_PATH": "/var/cache/jitc", "NCCL_DEBUG": "INFO", "TMPDIR": "/x",
        "PYTHONPATH": "/p", "JITC_USERS": "ann", "SSH_AUTH_SOCK": "/agent",
    }  # fmt: skip
    own = of_workers(service, None)
    assert own == {
        name: value for name, value in service.items() if name not in ("LD_PRELOAD", "JITC_SOCKET", "JITC_USERS")
    }
    assert of_workers(service, Owner(2**32 - 2, 1)) == {
        "PATH": "/bin", "LD_LIBRARY_PATH": "/lib", "NCCL_DEBUG": "INFO", "PYTHONPATH": "/p", "HOME": "/",
        "PYTHONNOUSERSITE": "1",
    }  # fmt: skip
