"""Two nodes in namespaces with a service each, etcd on further nodes, and jobs on them: what is measured, and shown.

Called by: __main__.py, demo.py. Promises: everything is started by the commands that users have; all of it has ended
when the block is left, also by Ctrl-C.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from common import workplace
from toolkit.cluster import Cluster, NodeJob, NodeService
from toolkit.etcd import Etcd, Member, etcd
from toolkit.etcd import why_not as why_no_etcd
from toolkit.job import Script
from toolkit.nodes import NamespaceNodes, Node
from toolkit.nodes import why_not as why_no_nodes
from toolkit.pace import PACED
from toolkit.record import assert_identical, read_records
from toolkit.service import Service
from toolkit.waiting import patient, until

from . import meter

if TYPE_CHECKING:
    from toolkit.workplace import Workplace

T = TypeVar("T")
#: Of an operator, everywhere: results depend on it.
THREADS = ("--threads", "1")
#: Nodes of services; those of the store's members come after them.
SERVICES = 2
#: For what takes a moment on a quiet machine: a recovery, a step.
SECONDS = 120.0
#: How often something that is timed is looked at.
LOOK = 0.005


def why_not() -> str:
    """Returns why there can be no nodes with a store here; empty: there can."""
    return why_no_nodes() or why_no_etcd()


class LoneService(NodeService):
    """A service in a node's namespaces that is of no cluster."""

    def __init__(self, cluster: Cluster, node: Node, gpus: int) -> None:
        self.node, self.name = node, node.name
        folder = cluster.folder / "alone"
        folder.mkdir()
        Service.__init__(self, folder, cluster.env, gpus, THREADS)


@dataclass
class Town:
    """What there is. near, far: the services of nodes 0 and 1; alone: one in node 0 without a cluster."""

    place: Workplace
    nodes: NamespaceNodes
    cluster: Cluster
    near: NodeService
    far: NodeService
    alone: LoneService

    @property
    def store(self) -> Etcd:
        return self.cluster.store

    def leader(self) -> NodeService:
        """Returns the service that leads the one job over nodes, as the store says."""
        name = until(lambda: next(iter(self._member().values("jitc/leaders/")), None), SECONDS, "a node leads the job")
        return next(one for one in self.cluster.services if one.name == name)

    def other(self, service: NodeService) -> NodeService:
        return self.far if service is self.near else self.near

    def reports(self) -> list[dict[str, Any]]:
        """Returns all recoveries so far, in the order in which they began."""
        return sorted(self.cluster.reports(), key=lambda one: float(one["began"]))

    def moment(self) -> meter.Moment:
        members = tuple(one.process.pid for one in self.store.members if one.process)
        return meter.now(self.place.mark, members)

    def _member(self) -> Member:
        return next(one for one in self.store.members if one.process and one.process.poll() is None)


def clock() -> Callable[[str], None]:
    """Returns what prints a line with the seconds since now."""
    begun = time.monotonic()
    return lambda text: print(f"{time.monotonic() - begun:6.1f} s  {text}", flush=True)


def visit(name: str, members: int, say: Callable[[str], None], act: Callable[[Town], T]) -> T:
    """Makes a town with so many members of the store, and returns what is done there. All has ended then, also when
    this is interrupted (KeyboardInterrupt, SIGTERM too); another signal does not stop the ending."""
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, _interrupt)
    results: list[T] = []
    with workplace(name) as place, contextlib.suppress(KeyboardInterrupt), town(place, members, say) as made:
        results.append(act(made))
    if not results:
        raise KeyboardInterrupt
    return results[0]


def _interrupt(*_: object) -> None:
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, signal.SIG_IGN)
    raise KeyboardInterrupt


def _drop_data(folder: Path) -> None:
    """Removes what members of the store have kept, which is large; their logs stay, as evidence."""
    for one in folder.iterdir() if folder.exists() else ():
        if one.is_dir():
            shutil.rmtree(one)


@contextlib.contextmanager
def town(place: Workplace, members: int, say: Callable[[str], None]) -> Iterator[Town]:
    """Makes it; near has two GPUs, far one."""
    folder = place.folder / "c"
    begun = time.monotonic()
    with contextlib.ExitStack() as ending:
        ending.callback(_drop_data, folder / "etcd")
        nodes = ending.enter_context(NamespaceNodes(SERVICES + members))
        store = ending.enter_context(etcd(folder / "etcd", members, list(nodes)[SERVICES:]))
        say(f"{len(nodes)} nodes, {members} of them with etcd, after {time.monotonic() - begun:.1f} s")
        made = Cluster(folder, nodes, store, place.env)
        ending.callback(made.stop)
        near, far = made.start(nodes[0], gpus=2, options=THREADS), made.start(nodes[1], gpus=1, options=THREADS)
        alone = LoneService(made, nodes[0], 2)
        ending.callback(alone.stop)
        for one in (near, far, alone):
            one.ready()
        say(f"a service on two of them, and one without a cluster, after {time.monotonic() - begun:.1f} s")
        yield Town(place, nodes, made, near, far, alone)


class Watched:
    """A job that is watched step by step, from the lines that its rank 0 prints."""

    def __init__(self, made: Town, script: Script, name: str, places: Sequence[NodeService]) -> None:
        self.folder, self._places = made.place.folder / name, places
        self.job: NodeJob = made.cluster.job(script, self.folder, places)

    def steps(self) -> int:
        return len(self.seconds())

    def seconds(self) -> list[float]:
        """Returns how long each step took, as the job prints it."""
        lines = (self.folder / "rank0.log").read_text(errors="replace").splitlines()
        return [float(line.split()[-2]) for line in lines if line.startswith("step ") and line.endswith(" s")]

    def wait_for(self, steps: int) -> None:
        """Waits until so many steps are done. AssertionError where a rank ends before."""
        self._until(lambda: self.steps() >= steps, f"step {steps}")

    def next_step(self, before: int) -> float:
        """Waits for a step after so many. Returns the clock (time.time) then."""
        self._until(lambda: self.steps() > before, "the next step")
        return time.time()

    def stands(self) -> None:
        """Waits until a job that is paced has made all steps that it was granted."""
        self._until(self.job.pace.waits, f"{self.job.pace.granted} steps")

    def boundary(self) -> int:
        """Returns the newest boundary of its ranks."""
        sessions = [session for one in set(self._places) for gpu in one.status()["gpus"] for session in gpu["sessions"]]
        return max((int(one["boundary"]) for one in sessions), default=0)

    def _until(self, condition: Callable[[], bool], what: str) -> None:
        soon(lambda: condition() or self._ended(), what)
        assert condition(), f"the job has ended:\n{self.job.output()[-3000:]}"

    def _ended(self) -> bool:
        return any(one.poll() is not None for one in self.job.processes)


def soon(condition: Callable[[], Any], what: str, seconds: float = SECONDS) -> Any:
    """Returns what is found; looks more often than toolkit.waiting does, since it is timed."""
    deadline = time.monotonic() + patient(seconds)
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {patient(seconds):g} s: {what}")
        time.sleep(LOOK)
    return found


def paced(script: Script) -> Script:
    """Returns the script as one that goes as far as it is let."""
    return replace(script, around=PACED)


def training(*arguments: object) -> Script:
    """Returns examples/train_gpt.py with these arguments."""
    return Script("train_gpt.py", tuple(map(str, arguments)))


def differences(folder: Path, other: Path) -> str:
    """Returns in what the records of two jobs differ; empty: they are identical to the last bit."""
    try:
        assert_identical(read_records(folder), read_records(other))
    except AssertionError as error:
        return str(error).splitlines()[0]
    return ""
