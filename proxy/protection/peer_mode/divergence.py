"""Replicas that no longer agree, reported in the output of programs and service and in `jitc report`.

Called by: the policies (which find them) and healings, in the coordinator's thread; gRPC threads read the documents.
Promise: a divergence is reported once; its outcome may change later.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

from jitc.v1 import worker_pb2

from ...ranks.rank import Rank, Worker
from ...status import documents
from ...status import report as model
from .replicas import Numbers, Split

#: Documents kept for `jitc report`, and blocks that a line names.
KEPT, NAMED = 100, 3
CALL_SECONDS = 10.0


class Divergence:
    """The result of one comparison of the replicas of a group. Sessions are keyed by their numbers."""

    def __init__(self, job: str, sessions: dict[int, Rank], boundary: int, splits: list[Split], heals: bool) -> None:
        self.job, self.sessions, self.boundary, self.splits = job, sessions, boundary, splits
        self.time = time.time()
        self.tries = 0  # at healing it
        self._still_split = {one.ordinal for one in splits}
        self.heals = heals and bool(self.healable())
        self.outcome = self._expected()

    def healable(self) -> list[Split]:
        """Returns blocks that are equal on most ranks and that optimizer steps write: no program intends one rank to
        differ in these."""
        return [one for one in self.splits if one.majority and one.stepped and one.ordinal in self._still_split]

    def update(self, still_split: set[int], boundary: int) -> bool:
        """Records which blocks still differ at the boundary. Returns False if none does."""
        self._still_split &= still_split
        if not self._still_split and not self.outcome.startswith("healed"):
            self.outcome = f"the ranks agreed again at boundary {boundary}"
        return bool(self._still_split)

    def _expected(self) -> str:
        if self.heals:
            return "the majority's bytes will be taken at one of the next boundaries"
        if self.healable():
            return "left as it is; jitc-proxyd --heal-replicas takes the majority's bytes"
        if any(one.majority for one in self.splits):
            return "left as it is; no optimizer step writes these blocks, so the program may mean it"
        return "left as it is"

    def text(self) -> str:
        """Returns one line for users."""
        blocks = "1 block" if len(self.splits) == 1 else f"{len(self.splits)} blocks"
        return (
            f"replicas have stopped agreeing: at boundary {self.boundary} {blocks} that ranks held equal before "
            f"{'differs' if len(self.splits) == 1 else 'differ'}: {self._blocks()}. {self._who()}. {self.outcome}"
        )

    def document(self) -> dict[str, Any]:
        found = model.Divergence(
            time=self.time,
            job=self.job,
            boundary=self.boundary,
            gpus=sorted({one.gpu for one in self.sessions.values()}),
            sessions=[one.label() for one in self.by_rank()],
            odd=[one.label() for one in self.by_rank(self._odd())],
            blocks=[
                model.DivergedBlock(
                    rank=session.label(), gpu=session.gpu,
                    address=split.addresses[session.number], bytes=split.size, ordinal=split.ordinal,
                )
                for split in self.splits
                for session in self.by_rank(split.concerned)
            ],
            outcome=self.outcome,
        )  # fmt: skip
        return documents.document(found)

    def _blocks(self) -> str:
        named = [
            f"{one.size} bytes (ordinal {one.ordinal}) of {self._labels(one.concerned)}" for one in self.splits[:NAMED]
        ]
        return "; ".join(named) + (" and others" if len(self.splits) > NAMED else "")

    def _who(self) -> str:
        undecided = [one for one in self.splits if not one.majority]
        if undecided:
            return f"Which rank is right cannot be told of {len(undecided)} of them: no majority agrees"
        return f"The other ranks agree, so a bit of the memory of {self._labels(self._odd())} may have flipped"

    def _odd(self) -> Numbers:
        return Numbers().union(*(one.odd for one in self.splits))

    def _labels(self, numbers: Numbers) -> str:
        return " and ".join(one.label() for one in self.by_rank(numbers))

    def by_rank(self, numbers: Numbers | None = None) -> Sequence[Rank]:
        """Returns these sessions, or all of them, in the order of their ranks."""
        chosen = [one for one in self.sessions.values() if numbers is None or one.number in numbers]
        return sorted(chosen, key=lambda one: (one.rank, one.number))


class Divergences:
    """All divergences of the node."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: list[Divergence] = []

    def add(self, found: Divergence) -> None:
        """Reports a divergence at once; its outcome may change later."""
        with self._lock:
            self._found = [*self._found[-KEPT + 1 :], found]
        self.say(found, found.text())

    def say(self, found: Divergence, text: str) -> None:
        """Prints to the service's output, and to the output of the first rank and of the ranks concerned."""
        print(f"jitc-proxyd: job {found.job}: {text}", file=sys.stderr, flush=True)
        concerned = Numbers().union(*(one.concerned for one in found.splits))
        for session in found.by_rank(concerned | {found.by_rank()[0].number}):
            tell(session, text)

    def documents(self) -> list[dict[str, Any]]:
        with self._lock:
            return [one.document() for one in self._found]


def tell(session: Rank, text: str) -> None:
    """Prints a line in the program's output, without waiting for it."""
    worker = session.worker
    if worker is not None:
        request = worker_pb2.TellRequest(session=session.number, text=text)
        answer = worker.ask("Tell", request, CALL_SECONDS)
        answer.add_done_callback(functools.partial(_notified, worker, session.label()))


def _notified(worker: Worker, label: str, answer: Any) -> None:
    if worker.alive() and (answer.cancelled() or answer.exception() is not None):
        print(f"jitc-proxyd: {label} could not be told: {answer}", file=sys.stderr, flush=True)
