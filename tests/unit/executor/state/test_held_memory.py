"""Memory that is held first and mapped later: back in time, in another worker, and when there is none."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest
from executor_rig import BASE, MIB, Client, Control, Shared, make_executor, stats, wait_for
from job_rig import digest

from jitc.proxy.common.executor import Executor

pytestmark = pytest.mark.usefixtures("device")

PAGE = 2 * MIB
PAGES = 6
#: Over the edges of pages: a live block need not know of them.
LIVE = [(BASE + PAGE - 4096, 8192, 1), (BASE + 3 * PAGE - 64, PAGE + 128, 2)]
#: The same as a copy can bring it back.
PARTS = [(start + at, min(MIB, size - at), 0) for start, size, _ in LIVE for at in range(0, size, MIB)]
OUT_OF_MEMORY, INVALID_VALUE, INVALID_HANDLE, ILLEGAL_ADDRESS = 2, 1, 400, 700


@dataclass
class Job:
    """A program whose pages come and go in every minibatch; the same seed gives the same ops."""

    seed: int
    reads: list[int] = field(default_factory=list)
    handle: int = 0

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)

    def hold(self, client: Client) -> int:
        self.handle += 1
        client.op("memory_hold", self.handle, PAGE)
        return self.handle

    def begin(self, client: Client) -> None:
        for page in range(PAGES):
            client.op("memory_map", self.hold(client), BASE + page * PAGE)
        client.op("fill", BASE, PAGES * PAGE, 3, 1)
        self.spare = self.hold(client)

    def forward(self, client: Client) -> None:
        """The last page is given up, and comes again as another; one that was held for long takes the place after."""
        last = BASE + (PAGES - 1) * PAGE
        client.op("fill", last, PAGE, self.rng.randrange(256), 1)
        client.op("copy_d2d", LIVE[0][0], last + 5, 8192)
        client.op("free", last)
        client.op("memory_map", self.spare, last + PAGE)
        client.op("memory_map", self.hold(client), last)
        client.op("copy_h2d", last + PAGE - 128, 256, payload=self.rng.randbytes(256))
        client.op("copy_d2d", LIVE[1][0] + self.rng.randrange(4096), last + PAGE - 200, 400)
        self.reads.append(client.op("copy_d2h", LIVE[1][0], 8192))

    def step(self, client: Client) -> None:
        client.step_begin()
        client.op("copy_d2d", LIVE[0][0] + 1024, LIVE[1][0], 4096, phase=2)
        client.op("free", BASE + PAGES * PAGE)
        self.spare = self.hold(client)
        client.op("memory_drop", self.hold(client))
        client.boundary(LIVE)
        client.flush()

    def minibatch(self, client: Client) -> None:
        self.forward(client)
        self.step(client)

    def values(self, client: Client) -> list[bytes]:
        return [client.results[one].payload for one in self.reads]


def start(executor: Executor, shared: Shared, job: Job) -> Client:
    executor.open_session(shared.request())
    client = Client(executor)
    client.attach()
    job.begin(client)
    client.flush()
    return client


def undisturbed(steps: int, seed: int) -> tuple[str, list[bytes]]:
    memory, executor, job = Shared(), make_executor(), Job(seed)
    try:
        client = start(executor, memory, job)
        for _ in range(steps):
            job.minibatch(client)
        return digest(client, PARTS), job.values(client)
    finally:
        executor.close()
        memory.close()


def another_worker(shared: Shared, executors: list[Executor], client: Client) -> None:
    executors.append(make_executor())
    executor = executors[-1]
    executor.open_session(shared.request(rebuild=True, epoch=1))
    boundary = int(executor.command("Fence", {"session": 1, "epoch": 1})["prepared"])
    client.reconnect(executor)
    assert executor.command("Rollback", {"session": 1, "boundary": boundary})["complete"]
    executor.command("Resume", {"session": 1, "epoch": 1, "slots": [0]})


def roll_back(executor: Executor, epoch: int = 1) -> None:
    boundary = int(executor.command("Fence", {"session": 1, "epoch": epoch})["prepared"])
    assert executor.command("Rollback", {"session": 1, "boundary": boundary})["complete"]
    executor.command("Resume", {"session": 1, "epoch": epoch, "slots": [0]})


@pytest.mark.parametrize("seed", range(4))
def test_bit_identical_after_losing_the_worker(shared: Shared, executors: list[Executor], seed: int) -> None:
    """Anywhere in the first and in a later minibatch."""
    expected, values = undisturbed(4, seed)
    job = Job(seed)
    executors.append(make_executor())
    client = start(executors[-1], shared, job)
    losses = {0, 1 + seed % 3}
    for step in range(4):
        job.minibatch(client)
        if step in losses:
            executors.pop().close()
            another_worker(shared, executors, client)
    assert digest(client, PARTS) == expected
    assert job.values(client) == values
    client.drain()
    assert stats(executors[-1])["memory_used"] == (PAGES + 1) * PAGE


def test_bit_identical_after_going_back_in_place(shared: Shared, executors: list[Executor]) -> None:
    expected, values = undisturbed(3, 9)
    job = Job(9)
    executors.append(make_executor())
    client = start(executors[-1], shared, job)
    roll_back(executors[-1])
    for epoch in range(2, 5):
        job.forward(client)
        client.drain()
        roll_back(executors[-1], epoch)
        job.step(client)
    assert digest(client, PARTS) == expected
    assert job.values(client) == values


def test_memory_that_was_not_there_is_not_there_again(shared: Shared, executors: list[Executor]) -> None:
    executors.append(make_executor(memory_limit=8 * MIB))
    executor = executors[-1]
    executor.open_session(shared.request())
    client = Client(executor)
    client.attach()
    assert client.call("memory_hold", 1, 6 * MIB).status == 0
    assert client.call("memory_hold", 2, 4 * MIB).status == OUT_OF_MEMORY
    client.op("memory_drop", 1)
    assert client.call("memory_hold", 3, 4 * MIB).status == 0
    client.drain()
    roll_back(executor)
    wait_for(lambda: stats(executor)["executed"] == client.sequence)
    assert stats(executor)["memory_used"] == 4 * MIB
    assert stats(executor)["state"] == "running"
    client.op("memory_map", 3, BASE)
    client.drain()


@pytest.mark.parametrize(
    ("op", "status"),
    [
        (("memory_map", 9, BASE), INVALID_HANDLE),
        (("memory_map", 1, BASE + PAGE), INVALID_VALUE),
        (("memory_map", 1, BASE - PAGE), INVALID_VALUE),
        (("memory_map", 1, BASE + 4096), INVALID_VALUE),
        (("memory_map", 2, BASE), INVALID_HANDLE),
        (("memory_drop", 2), INVALID_HANDLE),
        (("fill", BASE + PAGE, PAGE + 1, 0, 1), ILLEGAL_ADDRESS),
    ],
)
def test_a_malformed_op_is_a_fault_of_its_session(
    shared: Shared, executors: list[Executor], op: tuple[str | int, ...], status: int
) -> None:
    control = Control()
    executors.append(make_executor(control))
    executors[-1].open_session(shared.request())
    client = Client(executors[-1])
    client.attach()
    assert client.call("memory_hold", 1, PAGE).status == 0
    assert client.call("memory_hold", 2, PAGE).status == 0
    assert client.call("memory_hold", 2, PAGE).status == INVALID_VALUE
    client.op("memory_map", 2, BASE + PAGE)
    sequence = client.op(str(op[0]), *op[1:])
    client.flush()
    wait_for(lambda: control.faults)
    assert control.faults[0][1:3] == (sequence, status)
