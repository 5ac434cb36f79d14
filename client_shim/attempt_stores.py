"""Gives each attempt of a job that torchrun restarts a separate store.

PyTorch intends this ("We create a new TCPStore for every retry", where ranks open it), but its agent, the process that
starts the ranks, keeps one store for all attempts. Ranks find there what the previous attempt left: unique ids of ended
communicators, which they cannot join, and a request to write dumps, after which PyTorch ends a healthy rank.

Called by: autoload(), in every process, since an agent may be torchrun or part of another launcher. Promises: nothing
is imported; the first attempt, and agents that are not alone in their job, are unchanged; a later attempt gets the same
kind of store, kept by the same process, at another port (MASTER_PORT). This happens by default, unlike known_fixes.py:
no number that a program computes depends on it, and without it restarts fail. VARIABLE=0 in the agent's environment
turns it off.

The agent does it, because ranks could not. With a prefix for each attempt they would find no old ids, but PyTorch looks
past all prefixes for the request, and programs that open the store themselves would miss the prefix.
"""

from __future__ import annotations

import functools
import importlib
import os
from typing import Any

from jitc.client_shim import late_modules

#: Set to 1 for ranks whose agent does it: the interposer need not advise them then.
VARIABLE = "JITC_STORE_PER_ATTEMPT"
_AGENT = "torch.distributed.elastic.agent.server.api"


def give_each_its_own() -> None:
    """Enables it in this process, if it is an agent, or becomes one."""
    if os.environ.get(VARIABLE) != "0":
        late_modules.change({_AGENT: _change})


def _change(module: Any) -> None:
    agent: Any = getattr(module, "SimpleElasticAgent", None)
    if hasattr(agent, "_rendezvous"):
        agent._rendezvous = _renewing(agent._rendezvous)


def _renewing(meet: Any) -> Any:
    """Wraps an agent's _rendezvous(), before each attempt. All ranks of the previous attempt have been ended by
    then."""

    @functools.wraps(meet)
    def renewed(self: Any, group: Any) -> None:
        first = group.store is None
        meet(self, group)
        if not _is_ours(group):
            os.environ.pop(VARIABLE, None)
            return
        os.environ[VARIABLE] = "1"
        if not first:
            # Of the one that it replaces nothing is needed any more.
            self._jitc_store = _new_store(group.master_addr)
            group.master_port = self._jitc_store.port

    return renewed


def _is_ours(group: Any) -> bool:
    """Returns whether ranks use the agent's store, and all of them are this agent's: others would not learn of another
    port."""
    return group.group_world_size == 1 and getattr(group.spec.rdzv_handler, "use_agent_store", False)


def _new_store(address: str) -> Any:
    return importlib.import_module("torch.distributed").TCPStore(address, 0, is_master=True)
