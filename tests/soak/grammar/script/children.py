"""Children that a rank makes in the midst of training, by fork: they compute on the CPU, answer, and end.

Called by: run.py. Promises: a child never uses CUDA, and takes no lock that a thread of the rank may hold; it ends when
its rank has ended, however that came about.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import select
import signal
import struct
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import torch

from .job import BATCH, Part, numbers

LOOK_SECONDS = 0.5
NUMBER = struct.Struct("q")
#: A program of its own. It has the rank's environment, and nothing of its memory.
COUNTING = """import sys, zlib
for line in iter(sys.stdin.buffer.readline, b"\\n"): print(zlib.crc32(line), flush=True)"""


@dataclass(frozen=True)
class Work:
    """What a child needs to know."""

    seed: int
    width: int
    rank: int
    number: int

    def rows(self, iteration: int) -> torch.Tensor:
        """So few that PyTorch takes no threads for them: after a fork there are none."""
        drawn = torch.randn(BATCH, self.width, generator=numbers(self.seed, self.number, self.rank, iteration))
        return drawn.tanh().cumsum(0).mul_(0.1)


class Forked:
    """Made by os.fork, or by multiprocessing; it is asked by a number, and answers with rows."""

    def __init__(self, work: Work, made: str, pinned: torch.Tensor | None) -> None:
        self._work, self._parent, self._pinned = work, os.getpid(), pinned
        self._asked, self._answered = os.pipe(), os.pipe()
        self._process: Any = None
        if made == "process":
            self._process = multiprocessing.get_context("fork").Process(target=self._serve)
            self._process.start()
            self.pid = self._process.pid
        else:
            self.pid = os.fork()
            if not self.pid:
                self._serve_and_end()
        for one in (self._asked[0], self._answered[1]):
            os.close(one)

    # ---- in the child ---------------------------------------------------------------------------
    def _serve_and_end(self) -> None:
        status = 1
        with contextlib.suppress(BaseException):
            self._serve()
            status = 0
        os._exit(status)

    def _serve(self) -> None:
        gc.disable()  # what is garbage may be memory of a GPU
        torch.set_num_threads(1)
        while (iteration := self._question()) >= 0:
            rows = self._work.rows(iteration)
            if self._pinned is not None:
                self._pinned.copy_(rows)
                rows = rows[:0]
            os.write(self._answered[1], rows.numpy().tobytes() or b"!")

    def _question(self) -> int:
        while not select.select([self._asked[0]], [], [], LOOK_SECONDS)[0]:
            if os.getppid() != self._parent:  # another child may have the pipe's other end, so that it stays open
                return -1
        return int(NUMBER.unpack(os.read(self._asked[0], NUMBER.size) or NUMBER.pack(-1))[0])

    # ---- in the rank ----------------------------------------------------------------------------
    def ask(self, iteration: int) -> None:
        os.write(self._asked[1], NUMBER.pack(iteration))

    def answer(self) -> torch.Tensor:
        wanted = 1 if self._pinned is not None else BATCH * self._work.width * 4
        got = bytearray()
        while len(got) < wanted:
            more = os.read(self._answered[0], wanted - len(got))
            assert more, "the child has ended"
            got += more
        if self._pinned is not None:
            return self._pinned
        return torch.frombuffer(got, dtype=torch.float32).view(BATCH, self._work.width)

    def end(self, killed: bool) -> None:
        if killed:
            os.kill(self.pid, signal.SIGKILL)
        else:
            self.ask(-1)
        for one in (self._asked[1], self._answered[0]):
            os.close(one)
        if self._process:
            self._process.join()
            status = self._process.exitcode
        else:
            status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        assert status == (-signal.SIGKILL if killed else 0), f"the child ended with {status}"


class Pooled:
    """A process of an executor, which starts it when it is asked for the first time."""

    def __init__(self, work: Work) -> None:
        self._work, self._coming = work, Future[Any]()
        self._pool = ProcessPoolExecutor(1, multiprocessing.get_context("fork"), initializer=gc.disable)

    def ask(self, iteration: int) -> None:
        self._coming = self._pool.submit(answered, self._work, iteration)

    def answer(self) -> torch.Tensor:
        rows: list[list[float]] = self._coming.result()
        return torch.tensor(rows)

    def end(self, _killed: bool) -> None:
        self._pool.shutdown()


def answered(work: Work, iteration: int) -> list[list[float]]:
    torch.set_num_threads(1)
    made: list[list[float]] = work.rows(iteration).tolist()
    return made


class Executed:
    """Another program, started by vfork."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-c", COUNTING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )

    def ask(self, iteration: int) -> None:
        assert self._process.stdin is not None
        self._sent = f"{self._work.number} {self._work.rank} {iteration}\n".encode()
        self._process.stdin.write(self._sent)

    def answer(self) -> torch.Tensor:
        assert self._process.stdout is not None
        found = int(self._process.stdout.readline())
        assert found == zlib.crc32(self._sent)
        return torch.full((BATCH, self._work.width), found % 1000 / 1000)

    def end(self, killed: bool) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        if killed:
            self._process.kill()
        else:
            self._process.stdin.write(b"\n")  # another child may have the pipe's other end, so that it stays open
        self._process.stdin.close()
        self._process.stdout.close()
        status = self._process.wait()
        assert status == (-signal.SIGKILL if killed else 0), f"the child ended with {status}"


Made = Forked | Pooled | Executed


class Child(Part):
    """State that each iteration mixes with what a child has computed."""

    @classmethod
    def begin(cls, program: Mapping[str, Any], rank: int, number: int) -> Made | None:
        chosen, work = program["parts"][number]["choices"], Work(program["seed"], program["width"], rank, number)
        assert not torch.cuda.is_initialized()
        return started(work, chosen) if chosen["lives"] == "early" else None

    def prepare(self) -> None:
        job = self.job
        self.state = self.batch(0).to(job.device)
        self.pinned = torch.zeros(BATCH, job.width, pin_memory=True) if self.choices["gives"] == "pinned" else None
        self.work = Work(job.seed, job.width, job.rank, self.number)
        self.child: Made | None = job.early.get(self.number)
        self.stays = self.choices["lives"] in ("late", "early")
        self.asked = False

    def iterate(self, iteration: int) -> None:
        self._take()
        if self.child is None:
            self.child = started(self.work, self.choices, self.pinned)
        self.state = self.state * 0.5 + self.batch(iteration).to(self.job.device)
        self.child.ask(iteration)
        self.asked = True
        if self.choices["lives"] != "beside":
            self._take()

    def _take(self) -> None:
        if not self.asked:
            return
        assert self.child
        self.asked = False
        self.state = self.state * 0.5 + self.child.answer().to(self.job.device, non_blocking=True)
        if self.pinned is not None:
            torch.cuda.current_stream().synchronize()  # it is written again by the next child
        if not self.stays:
            self._end()

    def _end(self) -> None:
        if self.child:
            self.child.end(self.choices["ends"] == "killed")
            self.child = None

    def finish(self) -> None:
        self._take()
        self._end()

    def result(self) -> dict[str, Any]:
        return {"state": self.state}


def started(work: Work, chosen: Mapping[str, Any], pinned: torch.Tensor | None = None) -> Made:
    made: list[Made] = []

    def start() -> None:
        kinds: dict[str, Callable[[], Made]] = {
            "executor": lambda: Pooled(work), "subprocess": lambda: Executed(work),
        }  # fmt: skip
        made.append(kinds.get(chosen["made"], lambda: Forked(work, chosen["made"], pinned))())

    if chosen["thread"] == "main":
        start()
    else:
        thread = threading.Thread(target=start)
        thread.start()
        thread.join()
    return made[0]
