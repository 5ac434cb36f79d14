"""python -m forge DESCRIPTOR: starts programs in processes that have loaded PyTorch already.

Called by: toolkit/forge_client.py, which asks over that socket: a JSON object ({"program", "ranks", "env", "folder"})
with the descriptors of standard input, output and errors, and of a pipe. A process of its own is forked for it, before
CUDA was used, as those of a fork server are: it runs the program, or with `ranks` what ranks.py does. Promises: the
program finds its arguments, variables, folder and descriptors as if it had been started by itself, also in /proc; the
pipe says {"pid"}, and {"status"} when the process has ended, however it ends. It ends with its socket.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import random
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from typing import Any

import torch
import torch._dynamo  # what optimizers load at first use
import torch.distributed as dist
from toolkit import ranks
from toolkit.leaks import MARK
from torch.nn.parallel import DistributedDataParallel  # noqa: F401
from torch.utils.data import DataLoader  # noqa: F401

#: Of a question; the environment is most of it.
QUESTION_BYTES = 1 << 18


def write_mark(env: dict[str, str]) -> None:
    """To where this process was given its own mark, so that others find it by the new one in /proc."""
    getenv = ctypes.CDLL(None).getenv
    getenv.restype = ctypes.c_void_p
    mark = env.get(MARK, "").encode()
    assert len(mark) <= len(os.environ[MARK])
    ctypes.memmove(getenv(MARK.encode()), mark + b"\0", len(mark) + 1)


def take(env: dict[str, str]) -> None:
    """As the environment of this process, which has not looked at it yet."""
    for name in set(os.environ) - set(env):
        del os.environ[name]
    os.environ.update(env)
    tempfile.tempdir = None
    random.seed()


def run(program: list[str]) -> int:
    """A script as Python itself runs it; its exit status."""
    sys.argv = program
    sys.path[0] = os.path.dirname(os.path.abspath(program[0]))
    try:
        runpy.run_path(program[0], run_name="__main__")
    except Exception:
        traceback.print_exc()
        return 1
    return 0


class Child:
    """A process that was forked, used as a subprocess.Popen."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self._look(os.WNOHANG)

    def wait(self, timeout: float | None = None) -> int:
        if timeout is not None and self.poll() is None:
            descriptor = os.pidfd_open(self.pid)
            ended = select.select([descriptor], [], [], timeout)[0]
            os.close(descriptor)
            if not ended:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
        status = self._look(0)
        assert status is not None
        return status

    def terminate(self) -> None:
        os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def _look(self, flags: int) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, flags)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


def fork_rank(program: list[str], env: dict[str, str]) -> ranks.Rank:
    """In place of a start."""
    if pid := os.fork():
        return Child(pid)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    take(env)
    sys.exit(run(program))


def become(asked: dict[str, Any], descriptors: list[int]) -> int:
    """Runs what is asked for as a child of this process, which waits for it; the exit status, in the child."""
    pipe = descriptors.pop()
    write_mark(asked["env"])
    pid = os.fork()
    if pid:
        for one in (0, 1, 2, *descriptors):
            os.close(one)
        os.write(pipe, (json.dumps({"pid": pid}) + "\n").encode())
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        write_mark({})  # what is left of this process is nothing of the program
        os.write(pipe, (json.dumps({"status": status}) + "\n").encode())
        os._exit(0)
    os.close(pipe)
    os.setsid()
    for number, one in enumerate(descriptors):
        os.dup2(one, number)
        os.close(one)
    take(asked["env"])
    os.chdir(asked["folder"])
    if asked["ranks"]:
        return ranks.main(asked["ranks"], asked["program"], fork_rank)
    return run(asked["program"])


def main() -> int:
    assert dist.is_available() and not torch.cuda.is_initialized()
    control = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that wait for programs
    gc.collect()
    gc.freeze()  # what is loaded is nothing for collections in the programs: their ends would take a second each
    while True:
        question, descriptors, _, _ = socket.recv_fds(control, QUESTION_BYTES, 4)
        if not question:
            return 0
        if not os.fork():
            control.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            return become(json.loads(question), descriptors)
        for one in descriptors:
            os.close(one)


if __name__ == "__main__":
    sys.exit(main())
