"""Goes through all worlds that can come of the first one, breadth first, and says what is wrong with them.

Called by: tests, `python -m model`. Properties: no Violation on the way (its message says which); a world without
successors is a good end; from every world a good end can be reached. Promise: what is found is the shortest way there.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass

from .network import Network
from .state import Violation, World


@dataclass(frozen=True)
class Found:
    """What an exploration came to."""

    worlds: int
    steps: int
    seconds: float
    ends: int
    nodes: int
    problem: str = ""
    trace: tuple[str, ...] = ()
    complete: bool = True

    def text(self) -> str:
        head = f"{self.worlds} worlds, {self.steps} steps, {self.nodes} states of the service, {self.ends} good ends"
        head += f", {self.seconds:.1f} s of one core"
        if not self.problem:
            return head if self.complete else f"{head}; not complete"
        return "\n".join(
            [head, f"PROBLEM: {self.problem}", *(f"  {at:3}. {one}" for at, one in enumerate(self.trace, 1))]
        )


class Exploration:
    """depth_first: finds what lies deep sooner, by a longer way."""

    def __init__(self, network: Network, most: int = 5_000_000, depth_first: bool = False) -> None:
        self._network, self._most, self._depth_first = network, most, depth_first
        self._numbers: dict[World, int] = {network.first: 0}
        self._came: list[tuple[int, str]] = [(-1, "")]
        self._before: list[list[int]] = [[]]
        self._ends: list[int] = []
        self._steps = 0

    def run(self) -> Found:
        started, complete = time.process_time(), True
        queue = deque([self._network.first])
        problem, at = "", 0
        while queue and not problem:
            if len(self._numbers) > self._most:
                complete = False
                break
            world = queue.pop() if self._depth_first else queue.popleft()
            at = self._numbers[world]
            try:
                found = self._visit(world, at, queue)
            except Violation as violation:
                problem = str(violation)
                break
            if self._network.is_good_end(world):
                self._ends.append(at)
            elif not found:
                problem = "deadlock: nothing can happen any more"
        if not problem and complete:
            problem, at = self._without_end()
        trace = self._trace(at) if problem else ()
        if problem and not trace:
            trace = ("(the first world)",)
        return Found(
            len(self._numbers), self._steps, time.process_time() - started, len(self._ends),
            len(self._network.service.nodes), problem, trace, complete,
        )  # fmt: skip

    def _visit(self, world: World, at: int, queue: deque[World]) -> int:
        found = 0
        for what, after in self._network.next(world):
            if after == world:
                continue
            found += 1
            self._steps += 1
            number = self._numbers.get(after)
            if number is None:
                number = self._numbers[after] = len(self._came)
                self._came.append((at, what))
                self._before.append([])
                queue.append(after)
            self._before[number].append(at)
        return found

    def _without_end(self) -> tuple[str, int]:
        """A world from which no good end can be reached, if there is one."""
        reaches = bytearray(len(self._came))
        left = list(self._ends)
        for one in left:
            reaches[one] = 1
        while left:
            for before in self._before[left.pop()]:
                if not reaches[before]:
                    reaches[before] = 1
                    left.append(before)
        lost = reaches.find(0)
        return ("", 0) if lost < 0 else ("no good end can be reached any more", lost)

    def _trace(self, at: int) -> tuple[str, ...]:
        words = []
        while at > 0:
            at, what = self._came[at]
            words.append(what)
        return tuple(reversed(words))
