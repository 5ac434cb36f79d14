"""What faults cost a job on two nodes: lost workers, a cut link, services and members of the store that are killed.

Each job is paced, so that a fault meets it at work wherever the one before has left it; at its end it is compared with
the same job on one node without faults. Seconds of a recovery are those of `jitc report --json`: from the fault, as it
fired, to the end of the replay, after which new ops run. Called by: __main__.py, demo.py (cuts).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from toolkit.cluster import NodeService
from toolkit.job import Script
from toolkit.service import Service, kill_at

from . import meter
from .town import SECONDS, Town, Watched, differences, paced, soon

#: Ops of the backward pass that go by before a worker is killed: well inside it.
PHASE, SKIP = "backward", 20
#: After which boundary, counted from the newest one, and how many steps a job is let go for that.
AHEAD, STEPS = 2, 6
#: The same for a cut, during which it must be at work.
BEFORE_CUT, STEPS_CUT = 3, 24
#: What a bridge says when a link is cut for too long; what a service says when a job is in peer mode.
BROKEN, PEERS = "has broken", "peers give back what they hold"
Say = Callable[[str], None]


class Trials:
    """A paced job on two nodes, and what happens to it."""

    def __init__(self, town: Town, script: Script, name: str) -> None:
        self.town, self.script, self.name = town, script, name
        self.job = Watched(town, paced(script), name, [town.near, town.far])
        self.job.stands()
        self._known = 0

    def measured(self, fault: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Lets the fault happen. Returns what it measures, and what was spent meanwhile."""
        moment = self.town.moment()
        found = fault()
        self.job.stands()
        return found | {"spent": meter.spent(moment, self.town.moment())}

    def go(self, steps: int) -> None:
        """Lets the job make so many steps more."""
        pace = self.job.job.pace
        pace.grant(pace.granted + steps)

    # ---- faults ---------------------------------------------------------------------------------
    def lose_worker(self, service: NodeService | None = None, phase: str = PHASE, skip: int = SKIP) -> dict[str, Any]:
        """Kills the worker of a service; None: of that which does not lead the job."""
        self.arm(service or self.town.other(self.town.leader()), phase, skip)
        self.go(STEPS)
        return self.recovery()

    def lose_link(self, heal: Callable[[list[int]], None]) -> dict[str, Any]:
        """Cuts the link of the two nodes. heal: returns when it is to be healed."""
        base, before = self.job.steps(), len(self.town.reports())
        self.go(STEPS_CUT)
        self.job.wait_for(base + BEFORE_CUT)
        said = [len(one.said()) for one in (self.town.near, self.town.far)]
        self.town.nodes.cut(0, 1)
        cut = time.time()
        heal(said)
        steps = self.job.steps()
        self.town.nodes.heal(0)
        healed = time.time()
        goes_on = self.job.next_step(steps) - healed
        self.job.stands()
        told = self.town.reports()[before:]
        return {
            "cut_seconds": healed - cut,
            "seconds": goes_on,
            "recoveries": [{name: one[name] for name in ("cause", "outcome", "seconds", "phases")} for one in told],
        }

    def lose_service(self) -> dict[str, Any]:
        """Kills the leader's service while it recovers a worker of the other node, and starts it again at once."""
        leader = self.town.leader()
        self.arm(self.town.other(leader))
        self.go(STEPS)
        soon(lambda: recovers(leader), "a recovery")
        killed = time.time()
        leader.kill()
        leader.restart()
        found = self.recovery()
        return found | {
            "recovery_seconds": found["seconds"],
            "seconds": found["time"] - killed,
            "in_time": found["time"] > killed,  # otherwise it was over before
            "leads": self.town.leader().name,
        }

    def lose_member(self, *, leads: bool, later: bool = False) -> dict[str, Any]:
        """Kills a member of the store, the one that leads it or another one: right before a worker, or later, in its
        recovery. It comes back afterwards."""
        store, leader = self.town.store, self.town.leader()
        first = store.leader()
        member = first if leads else next(one for one in store.members if one is not first)
        self.arm(self.town.other(leader))
        if later:
            self.go(STEPS)
            soon(lambda: recovers(leader), "a recovery")
        killed = time.time()
        store.kill(member)
        if not later:
            self.go(STEPS)
        found = self.recovery()
        self.job.stands()
        store.start(member)
        return found | {"in_time": found["time"] > killed}

    # ---- what they have in common ---------------------------------------------------------------
    def arm(self, service: Service, phase: str = PHASE, skip: int = SKIP) -> None:
        """Prepares the loss of a worker some steps from now."""
        self._known = len(self.town.reports())
        service.inject(kill_at(self.job.boundary() + AHEAD, phase, skip), 0)

    def recovery(self) -> dict[str, Any]:
        """Returns the recovery since the loss was prepared, once it is told of."""
        soon(lambda: len(self.town.reports()) > self._known, "the recovery is told of")
        found = self.town.reports()[-1]
        return {
            name: found[name] for name in ("seconds", "phases", "outcome", "cause", "decision", "attempts", "time")
        } | {"bytes_from_peers": sum(found["bytes_from_peers"].values()), "bytes_restored": found["bytes_restored"]}

    def finish(self) -> None:
        """Lets the job come to its end."""
        self.job.job.pace.grant(int(self.script.arguments[self.script.arguments.index("--steps") + 1]))
        self.job.job.finish().successful()

    def compared(self) -> str:
        """Runs the job on one node without faults. Returns in what the two differ; empty: in nothing."""
        other = Watched(self.town, self.script, f"{self.name}-reference", [self.town.alone] * 2)
        other.job.finish().successful()
        return differences(self.job.folder, other.folder)

    def end(self) -> str:
        self.finish()
        return self.compared()


def recovers(service: Service) -> bool:
    """Returns whether a recovery is in progress on the service's node, or is led there."""
    gpus = service.status()["gpus"]
    return any(one["state"] == "recovering" for one in gpus) or any(
        session["state"] not in ("serving", "opening") for one in gpus for session in one["sessions"]
    )


def after(seconds: float) -> Callable[[list[int]], None]:
    return lambda _: time.sleep(seconds)


def when_noticed(town: Town) -> Callable[[list[int]], None]:
    """Returns a wait until the bridges of both nodes have said that the link has broken, after so many characters."""

    def wait(said: list[int]) -> None:
        both = list(zip((town.near, town.far), said, strict=True))
        soon(lambda: all(BROKEN in one.said()[at:] for one, at in both), "both nodes have noticed", SECONDS)

    return wait
