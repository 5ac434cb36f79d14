"""A job for tests: ops that follow from a seed, each minibatch depending on all memory before it."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path

from executor_rig import BASE, MIB, Client, Shared, make_executor, stats

from jitc.proxy.common.executor import Executor

BLOCK = 64 << 10
BLOCKS = 8
CHILD = Path(__file__).with_name("executor_child.py")


def live(count: int = BLOCKS) -> list[tuple[int, int, int]]:
    return [(BASE + i * BLOCK, BLOCK, i) for i in range(count)]


class Job:
    """The same seed gives the same ops."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.reads: list[int] = []

    def begin(self, client: Client) -> None:
        client.op("allocate", BASE, 2 * MIB)

    def forward(self, client: Client) -> None:
        for _ in range(6):
            a, b = self.rng.sample(range(BLOCKS), 2)
            client.op("copy_h2d", BASE + a * BLOCK + 64, 256, payload=self.rng.randbytes(256))
            client.op("copy_d2d", BASE + b * BLOCK + 1024, BASE + a * BLOCK, 4096, phase=1)
            client.op("fill", BASE + BLOCKS * BLOCK, BLOCK, self.rng.randrange(256), 1)  # not live at boundaries
        self.reads.append(client.op("copy_d2h", BASE + self.rng.randrange(BLOCKS) * BLOCK, 2048))

    def minibatch(self, client: Client) -> None:
        self.forward(client)
        client.step_begin()
        client.op("copy_d2d", BASE, BASE + BLOCK + 1024, 4096, phase=2)
        client.boundary(live())

    def values(self, client: Client) -> list[bytes]:
        return [client.results[one].payload for one in self.reads]


class SteadyJob(Job):
    """Half of the live blocks are written in steps only; in one minibatch, one of them is written before."""

    def __init__(self, seed: int, disturbed: int = 0) -> None:
        super().__init__(seed)
        self.minibatches, self.disturbed = 0, disturbed

    def forward(self, client: Client) -> None:
        self.minibatches += 1
        if self.minibatches == self.disturbed:
            client.op("fill", BASE + BLOCK, 512, self.rng.randrange(256), 1)
        for block in range(BLOCKS // 2, BLOCKS):
            client.op("copy_d2d", BASE + block * BLOCK, BASE + self.rng.randrange(BLOCKS) * BLOCK, 4096, phase=1)
            client.op("copy_h2d", BASE + block * BLOCK + 64, 256, payload=self.rng.randbytes(256))
        self.reads.append(client.op("copy_d2h", BASE + self.rng.randrange(BLOCKS) * BLOCK, 2048))

    def minibatch(self, client: Client) -> None:
        self.forward(client)
        client.step_begin()
        for block in range(BLOCKS):
            client.op("copy_d2d", BASE + block * BLOCK + 8192, BASE + self.rng.randrange(BLOCKS) * BLOCK, 4096, phase=2)
            client.op("copy_h2d", BASE + block * BLOCK + 128, 64, payload=self.rng.randbytes(64), phase=2)
        client.boundary(live())


def make_job(seed: int) -> Job:
    """JITC_TEST_JOB: "steady", with the minibatch in which it is not behind a colon."""
    name, _, disturbed = os.environ.get("JITC_TEST_JOB", "").partition(":")
    return SteadyJob(seed, int(disturbed or 0)) if name == "steady" else Job(seed)


def digest(client: Client, blocks: list[tuple[int, int, int]] | None = None) -> str:
    hashes = hashlib.sha256()
    for address, size, _ in blocks or live():
        hashes.update(client.call("copy_d2h", address, size).payload)
    return hashes.hexdigest()


def begun(executor: Executor, shared: Shared, job: Job) -> Client:
    """A new session of the job, at its begin."""
    executor.open_session(shared.request())
    client = Client(executor)
    client.attach()
    job.begin(client)
    return client


def undisturbed(steps: int, seed: int) -> tuple[str, list[bytes]]:
    """Memory and results of a run without a fault."""
    memory, executor, job = Shared(), make_executor(), make_job(seed)
    try:
        client = begun(executor, memory, job)
        for _ in range(steps):
            job.minibatch(client)
        client.flush()
        final = digest(client)
        return final, job.values(client)
    finally:
        executor.close()
        memory.close()


def run_and_kill(shared: Shared, seed: int, steps: int, after: int) -> None:
    """The worker is killed once it has sent so many minibatches; wherever its other threads are then."""
    command = [sys.executable, str(CHILD), json.dumps(shared.request()), str(seed), str(steps)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        for _ in range(after):
            assert child.stdout.read(1) == b"."
        child.kill()
        child.wait(10)


def take_over(shared: Shared, seed: int, steps: int) -> int:
    """The next worker goes back, runs all that is left, and has the bytes of a run without a fault; the boundary that
    it went back to."""
    executor = make_executor()
    executor.open_session(shared.request(rebuild=True, epoch=1))
    try:
        client, job = Client(executor), make_job(seed)
        job.begin(client)
        for _ in range(steps):
            job.minibatch(client)
        client.reconnect(executor)
        position = executor.command("Fence", {"session": 1, "epoch": 1})
        reply = executor.command("Rollback", {"session": 1, "boundary": position["prepared"]})
        assert reply["complete"], reply
        executor.command("Resume", {"session": 1, "epoch": 1, "slots": [0]})
        final = digest(client)
        assert stats(executor)["boundary"] == steps
    finally:
        executor.close()
    assert final == undisturbed(steps, seed)[0]
    return int(position["prepared"])
