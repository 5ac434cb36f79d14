"""Whether this service is a node of a cluster, and if so, its beginning and end there.

Called by: ../service.py. Promises: a service of a cluster does not begin without its store, its certificate and its
addresses, unless it takes over jobs: these go on, and what is missing is tried again and again; without a cluster there
is no thread, and nothing of it is loaded.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from ..common.complaints import Complaints
from ..common.config import ClusterOptions, Config
from ..keeper.client import Keeper
from ..keeper.log import Log
from ..node.registry import Registry
from .nodes import CannotJoin
from .numbers import Numbers, claimed_numbers

if TYPE_CHECKING:
    from .commands import Admin, Commands
    from .member import Member
    from .ranks.assembly import JobsOverNodes
    from .store.engine import Engine

#: Between tries to become a member, of a service that has jobs.
RETRY_SECONDS = 2.0
#: In the log: this node's number, and those that it has had.
_NUMBER, _FORMER = "cluster-number", "cluster-former-numbers"
_never = threading.Event()


class Membership:
    """A service's, which may be that of no cluster. Raises CannotJoin."""

    def __init__(self, config: Config, log: Log) -> None:
        """log: of the service's own user."""
        self._log = log
        self._engine: Engine | None = None
        self._member: Member | None = None
        self._ended = threading.Event()
        self._said = ""
        self._complaints = Complaints("the way into the cluster")
        self._make: Callable[[], Member] | None = None
        self._thread = threading.Thread(target=self._try, name="jitc-member", daemon=True)
        #: With this node's number.
        self.config = config
        self._numbers = Numbers(0)
        #: The way of this node's commands to other nodes; None: there are none.
        self.commands: Commands | None = None
        if config.cluster is not None:
            from .commands import Commands

            self._numbers = self._claimed(config.cluster)
            self.config = replace(config, node_number=self._numbers.own)
            self.commands = Commands()

    def start(self, registry: Registry, keeper: Keeper, over_nodes: JobsOverNodes | None, admin: Admin) -> None:
        """Becomes a member. over_nodes: of the service's own user, who has begun; admin: answers commands of other
        nodes. Raises CannotJoin if that cannot be, and no program is served yet."""
        if self._engine is None or over_nodes is None or self.commands is None:
            return
        from .member import Member

        made = functools.partial(Member, self._engine, self.config, self._log, registry, self._numbers)
        self._make = functools.partial(
            made, keeper=keeper, over_nodes=over_nodes, commands=self.commands, admin=admin
        )  # fmt: skip
        try:
            self._begin()
        except CannotJoin as error:
            if not registry.sessions:
                raise
            self._complain(error)
            self._thread.start()

    def stop(self) -> None:
        """Takes this node out of its cluster."""
        self._end(lambda member: member.stop())

    def leave(self) -> None:
        """Leaves what this node has of the cluster to the next service."""
        self._end(lambda member: member.leave())

    # -- parts ------------------------------------------------------------------------------------

    def _claimed(self, options: ClusterOptions) -> Numbers:
        from .store.locations import store_options
        from .store.opening import open_engine

        try:
            self._engine = open_engine(options.store, store_options(options))
        except ValueError as error:  # of a file for the store
            raise CannotJoin(str(error)) from None
        try:
            numbers = Numbers(self._log.get(_NUMBER) or 0, tuple(self._log.get(_FORMER) or ()))
            if not numbers.own:
                numbers = claimed_numbers(self._engine, options.node, self._say, _never.wait)
        except BaseException:
            self._engine.close()
            raise
        self._log.put(_FORMER, numbers.former)  # first: who finds the number has both
        self._log.put(_NUMBER, numbers.own)
        return numbers

    def _begin(self) -> None:
        assert self._make is not None
        self._member = self._make()

    def _try(self) -> None:
        while not self._ended.wait(RETRY_SECONDS):
            try:
                return self._begin()
            except CannotJoin as error:
                self._complain(error)
            except Exception as error:  # tried again as well: jobs wait for this node
                self._complaints.of(error)

    def _complain(self, error: CannotJoin) -> None:
        """Says why, once for each reason."""
        if str(error) != self._said:
            self._said = str(error)
            self._say(f"is not in its cluster: {error}")

    def _say(self, text: str) -> None:
        name = self.config.cluster.node if self.config.cluster is not None else ""
        print(f"jitc-proxyd: node {name} {text}", file=sys.stderr, flush=True)

    def _end(self, how: Callable[[Member], None]) -> None:
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()
        with ExitStack() as ends:
            if self._engine is not None:
                ends.callback(self._engine.close)
            if self._member is not None:
                ends.callback(how, self._member)
