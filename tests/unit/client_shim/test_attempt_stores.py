"""Each attempt finds nothing of the one before, with PyTorch's own agent and its ways to share a store."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest
import torch.distributed as dist
from toolkit.ranks import free_port
from torch.distributed.elastic.agent.server.api import SimpleElasticAgent, WorkerSpec
from torch.distributed.launcher.api import RendezvousParameters, rdzv_registry

from jitc.client_shim import attempt_stores, late_modules

HOST = "127.0.0.1"


class Agent(SimpleElasticAgent):
    """Starts nothing."""

    def _nothing(self, *_arguments: Any, **_keywords: Any) -> Any:
        raise NotImplementedError

    _start_workers = _stop_workers = _monitor_workers = _shutdown = _nothing


def begin(agent: SimpleElasticAgent) -> dist.TCPStore:
    """The store that ranks of the next attempt find, as they open it."""
    group = agent.get_worker_group()
    attempt_stores._renewing(SimpleElasticAgent._rendezvous)(agent, group)
    return dist.TCPStore(group.master_addr, group.master_port, is_master=False)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Without what the user has set."""
    given = {name: value for name, value in os.environ.items() if name != attempt_stores.VARIABLE}
    monkeypatch.setattr(os, "environ", given)
    return given


@pytest.mark.parametrize("backend", ["static", "c10d"])
def test_nothing_is_found_of_the_attempt_before(backend: str, environment: dict[str, str]) -> None:
    """Also where the count of restarts stays as it is, as when an agent has left."""
    port = free_port()
    how = RendezvousParameters(backend, f"{HOST}:{port}", "run", 1, 1, HOST, rank=0)
    handler = rdzv_registry.get_rendezvous_handler(how)
    agent = Agent(WorkerSpec("trainer", 1, handler, entrypoint=print, max_restarts=1))
    attempts = [begin(agent)]
    if backend == "static":
        assert attempts[0].port == port, "the first attempt has what the user has asked for"
    for _ in range(2):
        attempts[-1].set("exception_dump", "1")
        attempts.append(begin(agent))
        assert not attempts[-1].check(["exception_dump"])
    assert len({one.port for one in attempts}) == 3
    assert environment[attempt_stores.VARIABLE] == "1"
    with pytest.raises(dist.DistError):
        attempts[1].check(["exception_dump"])  # the store of an attempt ends when the next one has its own
    handler.shutdown()


@pytest.mark.parametrize(
    ("agents", "handler"), [(2, SimpleNamespace(use_agent_store=True)), (1, SimpleNamespace(use_agent_store=False))]
)
def test_other_jobs_are_left_alone(agents: int, handler: Any, environment: dict[str, str]) -> None:
    """Those of several agents, which would not learn of another port, and those whose rank 0 keeps the store."""
    environment[attempt_stores.VARIABLE] = "1"  # from an agent around this one
    spec = SimpleNamespace(rdzv_handler=handler)
    group = SimpleNamespace(store=None, group_world_size=agents, spec=spec, master_addr=HOST, master_port=29500)
    agent: Any = SimpleNamespace()

    def meet(_agent: Any, group: Any) -> None:
        group.store = "a store"

    renewed = attempt_stores._renewing(meet)
    for _ in range(2):
        renewed(agent, group)
        assert (group.store, group.master_port, vars(agent)) == ("a store", 29500, {})
        assert attempt_stores.VARIABLE not in environment


@pytest.mark.parametrize("wanted", ["0", None])
def test_it_can_be_turned_off(wanted: str | None, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    changed: list[Any] = []
    monkeypatch.setattr(late_modules, "change", changed.append)
    environment.update({attempt_stores.VARIABLE: wanted} if wanted else {})
    attempt_stores.give_each_its_own()
    assert [list(one) for one in changed] == ([] if wanted else [[SimpleElasticAgent.__module__]])


def test_an_agent_that_is_made_in_another_way_stays_as_it_is() -> None:
    for module in (SimpleNamespace(), SimpleNamespace(SimpleElasticAgent=SimpleNamespace())):
        attempt_stores._change(module)
    assert vars(module.SimpleElasticAgent) == {}
