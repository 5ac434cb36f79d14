"""Parts whose messages are under way while others work: in a thread beside them, and from one iteration to the next.

Called by: run.py.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import torch
import torch.distributed as dist

from .job import BATCH, Job, Part


class Talk(Part):
    """A thread that exchanges with the others' threads, until this part comes again; on a stream of its own, since
    ranks come to collectives of both threads in different order."""

    def prepare(self) -> None:
        self.stream = torch.cuda.Stream()
        with torch.cuda.stream(self.stream):  # nobody else may have its memory before that is done
            self.state = self.batch(0).to(self.job.device)
        self.thread: threading.Thread | None = None
        if self.choices["joins"] == "before":
            dist.barrier(group=self.group)
        torch.cuda.synchronize()

    def iterate(self, iteration: int) -> None:
        self.finish()
        rows = self.batch(iteration).to(self.job.device)
        torch.cuda.synchronize()
        self.thread = threading.Thread(target=self._talk, args=(rows,))
        self.thread.start()

    def _talk(self, rows: torch.Tensor) -> None:
        torch.cuda.set_device(self.job.device)
        with torch.cuda.stream(self.stream):
            for _ in range(2):
                given = self.state * 0.5 + rows
                self.state = self.state * 0.25 + self._exchanged(given)
            self.stream.synchronize()

    def _exchanged(self, given: torch.Tensor) -> torch.Tensor:
        if self.choices["operation"] == "all-reduce":
            dist.all_reduce(given, group=self.group)
            return given
        taken = torch.empty_like(given)
        after = self.members[(self.place + 1) % len(self.members)]
        both = [dist.P2POp(dist.isend, given, after, self.group),
                dist.P2POp(dist.irecv, taken, self.members[self.place - 1], self.group)]  # fmt: skip
        for one in dist.batch_isend_irecv(both):
            one.wait()
        return taken

    def finish(self) -> None:
        if self.thread:
            self.thread.join()

    def result(self) -> dict[str, Any]:
        return {"state": self.state}


class Ahead(Part):
    """A ring of messages; each is received, or sent, from one iteration on and waited for in the next."""

    def __init__(self, job: Job, number: int, document: Mapping[str, Any]) -> None:
        # A rank's own message must not come behind the one that it waits for.
        self.ways = [dist.new_group(document["ranks"]) for _ in range(2)]
        super().__init__(job, number, document)

    def prepare(self) -> None:
        self.state = torch.ones(BATCH, self.job.width, device=self.job.device) * (self.place + 1)
        self.coming: Any = None
        for one in self.ways:
            dist.barrier(group=one)

    def iterate(self, iteration: int) -> None:
        self.finish()
        self.taken = torch.empty_like(self.state)
        self.given = self.state * 0.5 + self.batch(iteration).to(self.job.device)
        before = (self.place - 1) % len(self.members)
        way = self.ways[before % 2]
        self.coming = dist.batch_isend_irecv([dist.P2POp(dist.irecv, self.taken, self.members[before], way)])
        self.sent = [] if self.choices["sends"] == "later" else self._send()

    def _send(self) -> list[Any]:
        after = self.members[(self.place + 1) % len(self.members)]
        return list(dist.batch_isend_irecv([dist.P2POp(dist.isend, self.given, after, self.ways[self.place % 2])]))

    def finish(self) -> None:
        if self.coming is None:
            return
        for one in [*(self.sent or self._send()), *self.coming]:
            one.wait()
        self.state = self.state * 0.25 + self.taken
        self.coming = None

    def result(self) -> dict[str, Any]:
        return {"state": self.state}
