"""Programs after public bug reports (tests/end_to_end/reports), each rank of them lost at counts of its ops.

Called by: test_reports.py. Promises: a pair of processes makes a program's run again and again, with or without losses;
each run gives the hashes of what both ranks hold.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from jitc.v1 import control_pb2

from .job import ROOT
from .lockstep import Lockstep
from .service import RECOVERY_SECONDS, Service
from .waiting import until

PROGRAM = ROOT / "tests" / "end_to_end" / "reports" / "steps.py"
ITERATIONS = 10
#: Before this iteration a fault is armed: on this GPU, after so many ops.
LOSSES = {2: (1, 15), 4: (0, 28), 6: (1, 3), 8: (0, 9)}


class Pair:
    """Both ranks of a program, in lockstep."""

    def __init__(self, start: Callable[..., Lockstep], service: Service, folder: Path, shape: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.service = service
        self._ranks = [start(service, PROGRAM, rank, folder, shape) for rank in range(2)]

    def run(self, losses: dict[int, tuple[int, int]]) -> list[str]:
        """From its beginning to its end: a hash of what each rank has."""
        for number in range(ITERATIONS):
            if number in losses:
                self._lose(*losses[number], number)
            else:
                self._iterate(number)
        return self._ask("end")

    def _iterate(self, number: int) -> None:
        answers = self._ask("")
        assert answers == [str(number)] * 2, self._said(answers)

    def _lose(self, gpu: int, ops: int, number: int) -> None:
        before = len(self.service.report())
        self.service.inject(control_pb2.Fault(kind="kill-worker", operations=ops), gpu)
        self._iterate(number)
        until(lambda: len(self.service.report()) > before, RECOVERY_SECONDS, "the rank is recovered")

    def finish(self) -> None:
        for one in self._ranks:
            one.close()
        for one in self._ranks:
            status, errors = one.finish()
            assert status == 0, errors

    def _ask(self, line: str) -> list[str]:
        for one in self._ranks:
            one.tell(line)
        return [one.answer() for one in self._ranks]

    def _said(self, answers: list[str]) -> str:
        ended = [one for one, answer in zip(self._ranks, answers, strict=True) if not answer]
        return "\n".join(one.finish()[1] for one in ended) or str(answers)
