"""Commands of other users, on machines where these have neither accounts nor access to Python and the checkout.

`as_user(1001)` goes before a command's own words. As a program: `users.py UID GID GROUP,... COMMAND...`, in a mount
namespace of its own, in which folders on the way to what the command needs can be entered by everybody.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

_UNSHARE = ("unshare", "--mount", "--propagation", "private", "--")


def as_user(uid: int, gid: int = -1, groups: tuple[int, ...] = ()) -> tuple[str, ...]:
    """Words before a command that shall be this user's; 0: root's, for whose workers it matters that they can be
    others'. gid: the user's number, if it is not given."""
    further = ",".join(map(str, groups))
    return *_UNSHARE, sys.executable, __file__, str(uid), str(gid if gid >= 0 else uid), further


@cache
def why_not() -> str:
    """Why there can be no such commands here; empty: there can."""
    if os.geteuid() != 0:
        return "only root can start processes of other users"
    if shutil.which("unshare") is None:
        return "there is no unshare here"
    done = subprocess.run([*as_user(1001), "true"], check=False, capture_output=True, text=True, timeout=60)
    return f"no mounts can be made here: {done.stderr.strip()[-200:]}" if done.returncode else ""


def needed() -> list[Path]:
    """Returns the folders that programs and workers read."""
    top = Path(__file__).resolve().parents[2]
    return [top, *{Path(one).resolve() for one in (sys.base_prefix, sys.prefix)}]


def open_the_way(paths: list[Path]) -> None:
    """Puts another folder in the place of each on the way that others cannot enter: what is needed of it is there."""
    closed = {one for path in paths for one in path.parents if not os.stat(one).st_mode & stat.S_IXOTH}
    for folder in sorted(closed, key=lambda one: len(one.parts)):
        inside = {folder / path.relative_to(folder).parts[0] for path in paths if folder in path.parents}
        with tempfile.TemporaryDirectory() as aside:
            _run("mount", "--rbind", folder, aside)
            _run("mount", "-t", "tmpfs", "-o", "mode=0755", "jitc-test", folder)
            for one in inside:
                one.mkdir()
                _run("mount", "--rbind", Path(aside, one.name), one)
            _run("umount", "--lazy", aside)


def _run(*words: str | Path) -> None:
    subprocess.run([str(one) for one in words], check=True)


if __name__ == "__main__":
    open_the_way(needed())
    user, group = int(sys.argv[1]), int(sys.argv[2])
    os.chdir("/")
    os.setgroups([int(one) for one in sys.argv[3].split(",") if one])
    os.setresgid(group, group, group)
    os.setresuid(user, user, user)
    if user:
        os.environ |= {"HOME": "/", "USER": f"user{user}"}  # PyTorch asks for a name, and there is no account
    os.execvp(sys.argv[4], sys.argv[4:])
