"""A cluster for tests: etcd, certificates, and a jitc-proxyd on each node; jobs whose ranks are on several nodes.

Called by: tests of jobs over nodes. Promises: everything is made by the commands that users have; the
store is on a node of its own; nothing is left when the block is over, and the services have ended by SIGTERM.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .etcd import Etcd, etcd
from .etcd import why_not as why_no_etcd
from .job import PRELOAD, ROOT, Result, Script
from .leaks import MARK, marked_processes
from .nodes import Node, Nodes, make_nodes
from .pace import PACE, Pace
from .ranks import free_port
from .record import read_records
from .service import BIN, Service
from .waiting import patient, until

PEER_PORT = 7431
JOB_SECONDS, STEP_SECONDS = 300.0, 120.0


class NodeService(Service):
    """The service of one node."""

    def __init__(self, cluster: Cluster, node: Node, *, gpus: int = 1, options: Sequence[str] = ()) -> None:
        self.node, self.name, self.options = node, node.name, options
        folder = cluster.folder / node.name
        folder.mkdir(parents=True, exist_ok=True)
        own = (
            "--cluster", f"etcd://{cluster.store.endpoints}", "--node", node.name,
            "--peer-address", f"{node.address}:{PEER_PORT}",
            "--peer-certificates", str(cluster.certificates / "nodes" / node.name),
        )  # fmt: skip
        super().__init__(folder, cluster.env, gpus, (*own, *options))

    def bridge_pid(self) -> int:
        """Its bridge has the node's name in its words."""
        words = {pid: command.split() for pid, command in marked_processes(self.env[MARK]).items()}
        [bridge] = [pid for pid, one in words.items() if "jitc.proxy.bridge" in one and self.name in one]
        return bridge

    def _start(self, *more: str) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return self.node.start(  # type: ignore[return-value]
                [*self.command, *more], stdout=subprocess.PIPE, stderr=log, env=self.env, text=False
            )


@dataclass
class NodeJob:
    """A job with ranks on several nodes; started at once."""

    folder: Path
    processes: list[subprocess.Popen[str]]
    pace: Pace  # of a script that is paced

    def go_to(self, steps: int) -> None:
        """Lets it make so many steps, in all, and waits until it stands still there."""
        self.pace.grant(steps)
        until(lambda: self.pace.waits() or self._failed(), STEP_SECONDS, f"the job has made {steps} steps")
        assert self.pace.waits(), self.output()[-6000:]

    def _failed(self) -> bool:
        return any(one.poll() for one in self.processes)

    def finish(self, seconds: float = JOB_SECONDS) -> Result:
        """Waits for all ranks; ends them and fails when it takes longer."""
        try:
            status = max(one.wait(patient(seconds)) for one in self.processes)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the job took over {patient(seconds):g} s:\n{self.output()[-6000:]}") from None
        return Result(status, self.output(), read_records(self.folder))

    def kill(self) -> None:
        for one in self.processes:
            if one.poll() is None:
                one.kill()
            one.wait(patient(30))

    def output(self) -> str:
        logs = sorted(self.folder.glob("rank*.log"))
        return "\n".join(f"== {one.name}\n{one.read_text(errors='replace')}" for one in logs)


class Cluster:
    """The services of several nodes; `cluster` makes it."""

    def __init__(self, folder: Path, nodes: Nodes, store: Etcd, env: Mapping[str, str]) -> None:
        self.folder, self.nodes, self.store, self.env = folder, nodes, store, dict(env)
        self.certificates = folder / "certificates"
        self.services: list[NodeService] = []
        self.jobs: list[NodeJob] = []
        self._jitc("cluster", "init", "--folder", str(self.certificates))

    def start(self, node: Node, *, gpus: int = 1, options: Sequence[str] = ()) -> NodeService:
        """Starts a node's service, which has to be waited for (`ready`)."""
        self._jitc("cluster", "add", node.name, "--folder", str(self.certificates))
        service = NodeService(self, node, gpus=gpus, options=options)
        self.services.append(service)
        return service

    def job(self, script: Script, folder: Path, places: Sequence[NodeService]) -> NodeJob:
        """Starts a job, which stands still after its first step if it is paced. places: the service of each rank."""
        folder.mkdir(parents=True, exist_ok=True)
        pace = Pace(folder / "pace", len(places))
        pace.grant(1)
        first, port = places[0].node.address, free_port()
        processes = []
        for rank, service in enumerate(places):
            local = sum(one is service for one in places[:rank])
            own = {
                "RANK": rank, "WORLD_SIZE": len(places), "LOCAL_RANK": local, "MASTER_ADDR": first, "MASTER_PORT": port,
            }  # fmt: skip
            paced = {PACE: str(folder / "pace")} if script.around else {}
            env = {
                **service.env,
                "LD_PRELOAD": str(PRELOAD),
                **{name: str(value) for name, value in own.items()},
                **paced,
            }
            words = [
                sys.executable, *(str(ROOT / one) for one in script.around), str(ROOT / "examples" / script.name),
                "--device", "cuda", *script.arguments, "--json", str(folder / "record.json"),
            ]  # fmt: skip
            with (folder / f"rank{rank}.log").open("wb") as log:
                processes.append(service.node.start(words, stdout=log, stderr=subprocess.STDOUT, env=env))
        job = NodeJob(folder, processes, pace)
        self.jobs.append(job)
        return job

    def reports(self) -> list[dict[str, Any]]:
        """Returns the recoveries that the services tell of, whichever of them led."""
        return [one for service in self.services for one in service.report()]

    def reports_since(self, before: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Returns those of which `before` has none: a report grows, as when a proof follows, but not its time."""
        known = {one["time"] for one in before}
        return [one for one in self.reports() if one["time"] not in known]

    def stop(self) -> None:
        """Ends all, jobs first."""
        for job in self.jobs:
            job.kill()
        for one in self.services:
            one.stop()

    def _jitc(self, *words: str) -> None:
        subprocess.run([str(BIN / "jitc"), *words], check=True, env=self.env, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def cluster(folder: Path, nodes: int, env: Mapping[str, str]) -> Iterator[Cluster]:
    """Makes a cluster whose services have not started. nodes: beside that of the store, which is the last one."""
    with contextlib.ExitStack() as ending:
        made = ending.enter_context(make_nodes(nodes + 1))
        store = ending.enter_context(etcd(folder / "etcd", 1, [made[nodes]]))
        one = Cluster(folder, made, store, env)
        ending.callback(one.stop)
        yield one


@contextlib.contextmanager
def started(folder: Path, nodes: int, env: Mapping[str, str], gpus: int = 1) -> Iterator[Cluster]:
    """Makes a cluster with a service on each node. gpus: of each; a rank for each has as many threads as in a job of
    one node, on which results depend."""
    threads = max(1, len(os.sched_getaffinity(0)) // (nodes * gpus))
    with cluster(folder, nodes, env) as made:
        for number in range(nodes):
            made.start(made.nodes[number], gpus=gpus, options=("--threads", str(threads)))
        for one in made.services:
            one.ready()
        yield made


def why_not() -> str:
    """Returns why there can be no cluster here; empty: there can."""
    return why_no_etcd()
