"""python ranks.py N PROGRAM...: the ranks of a job, started as torchrun would, which takes two seconds to load itself.

Called by: Job; tests/forge, which forks them. Promises: each rank has the variables of torch.distributed's env://;
when a rank fails the others are ended, and the exit status is 1; SIGTERM ends all of them. Tests of what torchrun
itself does start torchrun.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Protocol

#: After SIGTERM, until SIGKILL.
ENDING_SECONDS = 20.0
_LOWEST_PORT, _TRIES = 10000, 1000
#: Of ports that were given out.
_names: list[socket.socket] = []


def free_port() -> int:
    """Nobody gets it in between: it lies below those that the system gives to connections (where that leaves any), and
    whoever asks here has its name until the process has ended."""
    for port in random.sample(range(_LOWEST_PORT, max(_first_of_connections(), _LOWEST_PORT + 10 * _TRIES)), _TRIES):
        name = socket.socket(socket.AF_UNIX)
        with contextlib.suppress(OSError), socket.socket() as one:
            name.bind(f"\0jitc-test-port-{port}")
            one.bind(("127.0.0.1", port))
            _names.append(name)
            return port
        name.close()
    raise OSError(f"{_TRIES} ports are taken")


def _first_of_connections() -> int:
    return int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])


class Rank(Protocol):
    """What is used of a subprocess.Popen."""

    returncode: int | None

    @property
    def pid(self) -> int: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def terminate(self) -> None: ...
    def kill(self) -> None: ...


Start = Callable[[list[str], dict[str, str]], Rank]


def start(program: list[str], env: dict[str, str]) -> Rank:
    return subprocess.Popen([sys.executable, "-u", *program], env=env)


def started(count: int, program: list[str], begin: Start) -> Iterator[Rank]:
    shared = {
        "WORLD_SIZE": str(count),
        "LOCAL_WORLD_SIZE": str(count),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "TORCHELASTIC_RUN_ID": str(uuid.uuid4()),  # a job's name
    }
    for rank in range(count):
        yield begin(program, {**os.environ, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank)})


def end(ranks: list[Rank]) -> None:
    for one in ranks:
        if one.poll() is None:
            one.terminate()
    for one in ranks:
        try:
            one.wait(ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            one.kill()
            one.wait()


def wait(ranks: list[Rank]) -> int:
    """1, and a line that names it, as soon as a rank has failed; 0 when all are done."""
    left = {one.pid: (rank, one) for rank, one in enumerate(ranks)}
    while left:
        pid, status = os.wait()
        if pid not in left:
            continue
        rank, one = left.pop(pid)
        one.returncode = os.waitstatus_to_exitcode(status)
        if one.returncode:
            print(f"rank {rank} (pid {pid}) ended with {one.returncode}", file=sys.stderr, flush=True)
            return 1
    return 0


def main(count: int, program: list[str], begin: Start = start) -> int:
    ranks: list[Rank] = []
    launcher, starting, asked = os.getpid(), True, 0

    def on_signal(number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        asked = number
        # While a rank is being started it is not known yet; the launcher looks at `asked` when it is.
        if not starting or os.getpid() != launcher:
            raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, on_signal)
    try:
        for one in started(count, program, begin):
            ranks.append(one)  # one by one: each is ended whenever the signal comes
            if asked:
                break
        starting = False
        if asked:
            raise SystemExit(128 + asked)
        return wait(ranks)
    finally:
        if os.getpid() == launcher:  # else it is a rank that was forked
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            end(ranks)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
