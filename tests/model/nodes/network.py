"""What can happen next where a job is over several nodes; the events of one node are those of ../network.py.

Who leads, what a home admits and what it has to do with its sessions are the product's own rules
(proxy/cluster/ranks/rights.py). Transcribed are the store (proxy/cluster/store: a key with a lease, an entry that is
compared and swapped), what a home does for a leader (ranks/home), and the mirrors (proxy/native/bridge).

Called by: tests, `python -m model --nodes`. Promises: as those of ../network.py; a way that is cut carries nothing, and
loses nothing that services have said, since they ask again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jitc.proxy.cluster.ranks.rights import Away, Duty, admits, duty, followed, may_take

from .. import worker as workers
from ..network import Network, dead_ranks, put
from ..service import Idle, Node
from ..state import RUNNING, Call, Rank, Shape, Violation, Worker, World
from ..worker import Rules
from .state import NOBODY, Cluster, Home, Record, Shown

Events = Iterator[tuple[str, World]]
#: Of a rank within an epoch, in the order in which its leader decides them.
_ORDER = ("lost", "held", "serving")
#: Of a home, not of a worker.
_HOME_S = frozenset({"Note", "Place", "Replace", "EndWorker"})


class NodesNetwork(Network):
    """The rules of one exploration over nodes."""

    def __init__(self, shape: Shape, rules: Rules = frozenset()) -> None:
        super().__init__(shape, rules)
        nodes, nothing = range(shape.nodes), (0,) * shape.nodes
        there = shape.steady
        mirrors = tuple(_shown(one) if there else Shown() for one in self.first.ranks)
        homes = tuple(
            Home(
                self.service.first if one == 0 else NOBODY, 0, one == 0, 0 if one else NOBODY, int(one > 0),
                tuple(int(other > 0) for other in nodes) if one == 0 else nothing, nothing,
                linked=there, counts=there, mirrors=mirrors,
            )
            for one in nodes
        )  # fmt: skip
        records = (Record(),) * shape.ranks
        cluster = Cluster(homes, records, shape.troubles, leader=0, terms=1, severed=-1)
        self.first = self.first._replace(service=NOBODY, cluster=cluster)

    def is_good_end(self, world: World) -> bool:
        cluster = _of(world)
        if cluster.failure:
            return True
        busy = world.calls or world.replies or world.notices or cluster.ways or cluster.faults or cluster.updates
        whole = not cluster.down and not cluster.cut and cluster.paused == NOBODY
        led = [at for at, one in enumerate(cluster.homes) if one.service != NOBODY]
        if busy or not whole or led != [cluster.leader] or self._rest(world, cluster.leader).recovering:
            return False
        served = all(one.state == "serving" and not one.stopped for one in cluster.records)
        return served and all(self._is_done(number, one) for number, one in enumerate(world.ranks))

    def _any(self, world: World) -> Events:
        if self._given_up(world):
            return
        for number, rank in enumerate(world.ranks):
            yield from self._rank(world, number, rank)
        for call in dict.fromkeys(world.calls):
            yield from self._serve(world, call)
        for call in dict.fromkeys(_of(world).ways):
            yield from self._arrive(world, call)
        yield from self._heard(world)
        yield from self._troubles(world)
        yield from self._back(world)
        for node in range(self.shape.nodes):
            yield from self._mirror(world, node)
            if _of(world).paused != node:
                yield from self._lead(world, node)
                yield from self._reports(world, node)

    # -- troubles -----------------------------------------------------------------------------------

    def _troubles(self, world: World) -> Events:
        cluster = _of(world)
        left = cluster.left
        if left.leases and cluster.leader != NOBODY:
            gone = _home(world, cluster.leader, sure=False)
            word = f"the lease of node {cluster.leader}, which leads, runs out"
            yield word, _with(gone, leader=NOBODY, left=left._replace(leases=left.leases - 1))
        if left.outages and not cluster.down:
            yield "the store is gone", _with(world, down=True, left=left._replace(outages=left.outages - 1))
        for node in range(self.shape.nodes):
            if left.pauses and cluster.paused == NOBODY:
                paused = _with(world, paused=node, left=left._replace(pauses=left.pauses - 1))
                yield f"the service of node {node} is paused", paused
            for other in range(self.shape.nodes):
                if left.cuts and node != other and (node, other) not in cluster.cut:
                    yield f"the way from node {node} to node {other} is cut", self._cut(world, node, other)

    def _cut(self, world: World, node: int, other: int) -> World:
        """What was published in the segments of this epoch is lost, and what was on its way from board to board."""
        cluster = _of(world)
        return _with(
            world, cut=tuple(sorted([*cluster.cut, (node, other)])), severed=max(one.shown for one in world.ranks),
            updates=tuple(one for one in cluster.updates if (self.shape.home(one[1]), one[0]) != (node, other)),
            left=cluster.left._replace(cuts=cluster.left.cuts - 1),
        )  # fmt: skip

    def _back(self, world: World) -> Events:
        cluster = _of(world)
        if cluster.down:
            yield "the store is back", _with(world, down=False)
        if cluster.paused != NOBODY:
            yield f"the service of node {cluster.paused} goes on", _with(world, paused=NOBODY)
        for one in cluster.cut:
            rest = tuple(other for other in cluster.cut if other != one)
            yield f"the way from node {one[0]} to node {one[1]} is whole again", _with(world, cut=rest)

    # -- who leads ----------------------------------------------------------------------------------

    def _lead(self, world: World, node: int) -> Events:
        cluster, home = _of(world), _of(world).homes[node]
        left = cluster.left
        sure = cluster.leader == node and (home.sure or "unanswered-is-failed" not in self.rules)
        if not cluster.down and (home.known, home.sure) != (cluster.leader, sure):
            seen = _home(world, node, known=cluster.leader, sure=sure)
            yield f"node {node} sees that {_named(cluster.leader)} leads", self._look(seen, node)
        if (looked := self._look(world, node)) != world:
            yield f"node {node} finds out that it does not lead any more", looked
        if not cluster.down and cluster.leader == NOBODY and home.service == NOBODY:
            taken = _with(world, leader=node)
            mine = self._look(_home(taken, node, known=node, sure=True), node)
            yield f"node {node} takes the key of the leader", mine
            if left.unanswered:
                fewer = _with(taken, left=left._replace(unanswered=left.unanswered - 1))
                yield f"node {node} takes the key of the leader, and is not answered", fewer

    def _look(self, world: World, node: int) -> World:
        """As ranks/leads.py does, again and again."""
        leader = self._leader_of(world, node)
        due = duty(str(node), self._away(world, node), _name(leader))
        if due is Duty.LET_GO:
            world = self._let_go(world, node)
            due = duty(str(node), self._away(world, node), _name(leader))
        if due is Duty.FOLLOW:
            another = followed(str(node), _name(leader))
            term = _of(world).terms + 1 if another is not None else 0
            world = _with(world, terms=max(_of(world).terms, term))
            world = _home(world, node, leader=NOBODY if another is None else int(another), term=term)
        if leader != node and any(_of(world).homes[node].terms):  # documents of ranks that it has not taken
            world = self._forget(world, node)
        return self._pruned(self._take(world, node))

    def _leader_of(self, world: World, node: int) -> int:
        """As cluster/jobs.py says it."""
        home = _of(world).homes[node]
        if home.sure and _of(world).leader == node:
            return node
        return NOBODY if home.known == node else home.known

    def _away(self, world: World, node: int) -> Away | None:
        home = _of(world).homes[node]
        return Away(_name(home.leader), home.term) if home.service == NOBODY else None

    def _let_go(self, world: World, node: int) -> World:
        world = self._forget(_home(world, node, service=NOBODY, leader=NOBODY, term=0, asked=NOBODY), node)
        return world._replace(replies=tuple(one for one in world.replies if one[0].leader != node))

    def _forget(self, world: World, node: int) -> World:
        home = _of(world).homes[node]
        dropped = tuple(max(pair) for pair in zip(home.dropped, home.terms, strict=True))
        return _home(world, node, dropped=dropped, terms=(0,) * self.shape.nodes)

    def _take(self, world: World, node: int) -> World:
        """Begins to lead once the homes of all ranks have told what they are."""
        cluster, home = _of(world), _of(world).homes[node]
        away = self._away(world, node)
        if away is None or not may_take(str(node), away, _name(self._leader_of(world, node))):
            return world
        others = [at for at in range(self.shape.nodes) if at != node]
        if not all(home.terms[at] for at in others) and "silent-node-left-out" not in self.rules:
            return world
        idle = Idle(
            max(one.epoch for one in cluster.records), tuple(one.workers for one in world.ranks),
            tuple(one.state for one in cluster.records), tuple(one.epoch for one in cluster.records), node=node,
            terms=home.terms, stopped=tuple(one.stopped for one in cluster.records),
        )  # fmt: skip
        dead = tuple((at, one.workers) for at, one in enumerate(world.ranks) if one.worker is None)
        world = _home(world._replace(notices=dead), node, leader=NOBODY, term=0)
        return self._acts(world, node, self.service.takes(idle, self._dead(world, node)))

    def _reports(self, world: World, node: int) -> Events:
        """Documents of this node for whom it follows."""
        home = _of(world).homes[node]
        leader = home.leader
        if home.service != NOBODY or leader == NOBODY or not self._is_open(world, node, leader):
            return
        of_leader = _of(world).homes[leader]
        if _of(world).paused == leader or self._leader_of(world, leader) != leader:
            return
        if of_leader.terms[node] == home.term:
            return
        if home.term <= of_leader.dropped[node]:
            if self._is_open(world, leader, node):
                term = _of(world).terms + 1
                yield f"node {leader} asks node {node} again", _home(_with(world, terms=term), node, term=term)
            return
        terms = tuple(home.term if at == node else term for at, term in enumerate(of_leader.terms))
        told = self._take(_home(world, leader, terms=terms), leader)
        yield f"node {node} tells node {leader} of its ranks, in term {home.term}", self._pruned(told)

    # -- calls --------------------------------------------------------------------------------------

    def _arrive(self, world: World, call: Call) -> Events:
        node = self.shape.home(call.rank)
        if not self._is_open(world, call.leader, node) or _of(world).paused == node:
            return
        ways = list(_of(world).ways)
        ways.remove(call)
        word = f"node {node} takes {call.method} of epoch {call.epoch} for rank {call.rank} from node {call.leader}"
        world = self._noted(_with(world, ways=tuple(ways)), call)
        if call.method in _HOME_S:
            yield word, self._pruned(self._done_at_home(world, call))
            return
        there = world.ranks[call.rank].worker
        if there is None or there.number != call.worker:
            yield word, self._answer(world, call, workers.ERROR)
            return
        world = world._replace(calls=tuple(sorted([*world.calls, call])))
        if self.shape.prompt and (served := next(self._serve(world, call), None)) is not None:
            yield f"{word}; {served[0]}", served[1]
        else:
            yield word, world

    def _noted(self, world: World, call: Call) -> World:
        """What the leader has decided, unless the home knows of something newer. These calls bring nothing."""
        record = _of(world).records[call.rank]
        told = Record(*call.note)
        if call.method in ("Place", "EndWorker") or _order(told) <= _order(record):
            return world
        records = list(_of(world).records)
        records[call.rank] = told
        return _with(world, records=tuple(records))

    def _done_at_home(self, world: World, call: Call) -> World:
        rank = world.ranks[call.rank]
        if call.method == "Place":
            world = self._place(world, self.shape.home(call.rank), call)
            return self._answer(world, call, ("home", True))
        if call.method == "EndWorker" and rank.worker is not None and rank.worker.number == call.worker:
            return self._dies(world, call.rank)
        if call.method == "Replace":
            if rank.worker is not None:
                world = self._dies(world, call.rank)
            number = rank.workers + 1
            fresh = world.ranks[call.rank]._replace(worker=Worker(number), workers=number)
            return self._answer(put(world, call.rank, fresh), call, ("home", number))
        return world

    def _place(self, world: World, node: int, call: Call) -> World:
        """The mirrors begin an epoch: they show the boundaries of the decision, and no history."""
        if "mirror-keeps-older-epoch" in self.rules:
            return world
        mirrors = list(_of(world).homes[node].mirrors)
        for rank, boundary in call.places:
            if self.shape.home(rank) != node and call.epoch >= mirrors[rank].epoch:
                mirrors[rank] = Shown(call.epoch, boundary)
        return _home(world, node, mirrors=tuple(mirrors))

    def _acts(self, world: World, node: int, number: int) -> World:
        """What the service of the leader did."""
        rest = self.service.nodes[number]
        world = _home(world, node, service=number)
        if rest.failure and not world.gone:
            raise Violation(f"the job is given up, though its state was still there: {rest.failure}")
        if rest.failure:
            nothing = _with(world, failure=rest.failure, ways=(), updates=(), faults=())
            return nothing._replace(calls=(), replies=(), notices=())
        records = list(_of(world).records)
        for rank in self._own(node):
            records[rank] = Record(rest.epochs[rank], rest.states[rank], rest.stopped[rank])
        world = self._work(_with(world, records=tuple(records)), node, rest)
        for call in rest.calls:
            world = self._make(world, node, call)
        return self._look(self._let_go(world, node), node) if rest.left else self._pruned(world)

    def _work(self, world: World, node: int, rest: Node) -> World:
        """Workers of this node that were started and killed."""
        for rank in self._own(node):
            newest = rest.workers[rank]
            if newest != world.ranks[rank].workers:
                if world.ranks[rank].worker is not None:
                    world = self._dies(world, rank)
                world = put(world, rank, world.ranks[rank]._replace(worker=Worker(newest), workers=newest))
            if (rank, newest) in rest.killed and world.ranks[rank].worker is not None:
                world = self._dies(world, rank)
        return world

    def _make(self, world: World, node: int, call: Call) -> World:
        if self.shape.home(call.rank) != node:
            return _with(world, ways=tuple(sorted([*_of(world).ways, call])))
        if call.method in _HOME_S:
            return self._done_at_home(world, call)
        there = world.ranks[call.rank].worker
        if there is None or there.number != call.worker:
            return self._answer(world, call, workers.ERROR)
        return world._replace(calls=tuple(sorted([*world.calls, call])))

    def _pruned(self, world: World) -> World:
        """Leaves out what can make no difference any more."""
        ways = tuple(one for one in _of(world).ways if self._is_admitted(world, one))
        alive = {at: one.worker for at, one in enumerate(world.ranks) if one.worker is not None}
        faults = [
            (rank, epoch, op) for rank, epoch, op in _of(world).faults
            if rank in alive and alive[rank].severed and alive[rank].epoch == epoch
        ]  # fmt: skip
        return _with(world, ways=ways, faults=tuple(faults))._replace(
            calls=tuple(one for one in world.calls if not self._is_past(world, one)),
            replies=tuple(one for one in world.replies if self._is_awaited(world, one[0])),
            notices=tuple(sorted({one for one in world.notices if one[1] == world.ranks[one[0]].workers})),
        )

    def _is_admitted(self, world: World, call: Call) -> bool:
        """By its home. Terms only grow: what is refused once is refused for good."""
        away = self._away(world, self.shape.home(call.rank))
        return admits(away, str(call.leader), call.term) or "home-admits-all" in self.rules

    def _is_past(self, world: World, call: Call) -> bool:
        """Whether its worker refuses it for good, or it only asks, and nobody waits for it."""
        worker = world.ranks[call.rank].worker
        if self._is_awaited(world, call) or worker is None or "no-epoch-check" in self.rules:
            return False
        return worker.newest > call.epoch or call.method in ("BoundaryTable", "Export")

    # -- what the service hears -----------------------------------------------------------------------

    def _heard(self, world: World) -> Events:
        yield from self._replies(world)
        for node, home in enumerate(_of(world).homes):
            if home.service == NOBODY or _of(world).paused == node:
                continue
            for rank, number in world.notices:
                if self._tells(world, rank, node):
                    rest = world._replace(notices=tuple(one for one in world.notices if one != (rank, number)))
                    word = f"node {node} hears of the death of rank {rank}'s worker"
                    yield word, self._hears(rest, node, ("death", rank, number))
            for fault in _of(world).faults:
                if self._tells(world, fault[0], node):
                    rest = _with(world, faults=tuple(one for one in _of(world).faults if one != fault))
                    yield f"node {node} hears of rank {fault[0]}'s fault", self._hears(rest, node, ("fault", *fault))
            if self._rest(world, node).wants is not None:
                yield from self._epoch(world, node)
            ends = self._rest(world, node).ends
            if ends is not None and self._all_at(world, node, ends):
                yield f"node {node} sees the replay's end", self._hears(world, node, ("replayed",))

    def _replies(self, world: World) -> Events:
        for call, reply in world.replies:
            node, home = call.leader, self.shape.home(call.rank)
            if _of(world).paused == node or not self._is_open(world, home, node):
                continue
            rest = world._replace(replies=tuple(one for one in world.replies if one[0] != call))
            word = f"node {node} hears of {call.method} of rank {call.rank}"
            yield word, self._hears(rest, node, ("reply", call, reply))

    def _epoch(self, world: World, node: int) -> Events:
        """The entry of the job is compared and swapped: it must be as it was when this node was sure to lead."""
        cluster, home = _of(world), _of(world).homes[node]
        wants = self._rest(world, node).wants
        assert wants is not None
        if home.asked == NOBODY:
            if self._leader_of(world, node) != node:
                yield f"node {node} gets no epoch: it does not lead", self._hears(world, node, ("not led",))
            elif not cluster.down and cluster.left.leases + cluster.left.unanswered:
                yield f"node {node} asks for an epoch", _home(world, node, asked=cluster.epoch)
            elif not cluster.down:
                yield from self._given(world, node, wants)
        elif not cluster.down and home.asked == cluster.epoch:
            yield from self._given(world, node, wants)
        elif not cluster.down and "unanswered-is-failed" not in self.rules:
            yield f"node {node} reads the epoch again", _home(world, node, asked=NOBODY)

    def _given(self, world: World, node: int, wants: int) -> Events:
        cluster = _of(world)
        epoch = 1 + max(wants, cluster.epoch)
        if "epochs-of-each-node" in self.rules:
            epoch = 1 + max(cluster.records[rank].epoch for rank in self._own(node))
        written = _with(_home(world, node, asked=NOBODY), epoch=max(epoch, cluster.epoch))
        yield f"node {node} gets epoch {epoch}", self._hears(written, node, ("epoch", epoch))
        if cluster.left.unanswered:
            left = cluster.left._replace(unanswered=cluster.left.unanswered - 1)
            asked = cluster.epoch if "unanswered-is-failed" in self.rules else NOBODY
            word = f"epoch {epoch} is written for node {node}, which is not answered"
            yield word, _home(_with(written, left=left), node, asked=asked)

    def _hears(self, world: World, node: int, what: tuple[object, ...]) -> World:
        number = _of(world).homes[node].service
        return self._acts(world, node, self.service.hears(number, what, self._dead(world, node)))

    def _tells(self, world: World, rank: int, node: int) -> bool:
        """Whether the leader is told of the rank by its home."""
        home = self.shape.home(rank)
        if home == node:
            return True
        follows = _of(world).homes[home]
        there = follows.leader == node and follows.term == _of(world).homes[node].terms[home]
        return there and self._is_open(world, home, node) and _of(world).paused != home

    def _all_at(self, world: World, node: int, ends: Sequence[int]) -> bool:
        at_end = all(
            one.worker is not None and one.worker.cursor >= end for one, end in zip(world.ranks, ends, strict=True)
        )
        return at_end and all(self._is_open(world, self.shape.home(at), node) for at in range(self.shape.ranks))

    # -- ranks, and mirrors of the board --------------------------------------------------------------

    def _run(self, world: World, number: int) -> Events:
        rank = world.ranks[number]
        worker, op = rank.worker, rank.worker.cursor + 1 if rank.worker is not None else 0
        if worker is not None and worker.life == RUNNING and worker.epoch <= _of(world).severed and op <= rank.received:
            k = self.shape.minibatch(op, number)
            if not worker.imported and self.shape.part(op, number) == "collective" and worker.joined[1] >= k:
                if not worker.severed:
                    yield f"rank {number}: collective {k} fails, the nodes were cut off", self._fails(world, number, op)
                return
        yield from super()._run(world, number)

    def _fails(self, world: World, number: int, op: int) -> World:
        rank = world.ranks[number]
        assert rank.worker is not None
        world = put(world, number, rank._replace(worker=rank.worker._replace(severed=True)))
        records = list(_of(world).records)
        records[number] = records[number]._replace(stopped=True)
        faults = tuple(sorted([*_of(world).faults, (number, rank.worker.epoch, op)]))
        return _with(world, records=tuple(records), faults=faults)

    def _seen(self, world: World, number: int) -> Sequence[Rank]:
        node = self.shape.home(number)
        home = _of(world).homes[node]
        found = []
        for at, one in enumerate(world.ranks):
            there = self.shape.home(at)
            if there != node:
                mirror = home.mirrors[at]
                done = mirror.kept is None and "missing-mirror-is-done" in self.rules
                read = home.linked and _of(world).homes[there].linked and self._is_open(world, there, node)
                found.append(one._replace(
                    worker=one.worker if read else None, reached=mirror.reached, kept=mirror.kept or (),
                    whole=mirror.whole and mirror.kept is not None, counted=home.counts and not done,
                ))  # fmt: skip
            else:
                found.append(one)
        return found

    def _mirror(self, world: World, node: int) -> Events:
        home, left = _of(world).homes[node], _of(world).left
        if not home.linked:
            linked = _home(world, node, linked=True, counts="joined-before-counted" not in self.rules)
            yield f"node {node} links the communicator; ranks of other nodes have slots", linked
        elif not home.counts:
            yield f"node {node} gives slots to ranks of other nodes", _home(world, node, counts=True)
        for rank, one in enumerate(world.ranks):
            there, shown = self.shape.home(rank), _shown(one)
            if there == node or not home.counts or not self._is_open(world, there, node):
                continue
            if shown == home.mirrors[rank] or (shown.epoch < home.mirrors[rank].epoch and not self._keeps_old()):
                continue
            yield f"node {node} is shown rank {rank}", self._update(world, node, rank, shown)
            if left.lates:
                late = _with(world, left=left._replace(lates=left.lates - 1), updates=((node, rank, shown),))
                yield f"what rank {rank} shows is on its way to node {node}", late
        for late_one in _of(world).updates:
            if late_one[0] == node and self._is_open(world, self.shape.home(late_one[1]), node):
                rest = tuple(one for one in _of(world).updates if one != late_one)
                yield (
                    f"node {node} is shown what rank {late_one[1]} was",
                    self._update(_with(world, updates=rest), *late_one),
                )

    def _keeps_old(self) -> bool:
        return "mirror-keeps-older-epoch" in self.rules

    def _update(self, world: World, node: int, rank: int, shown: Shown) -> World:
        """Within an epoch counters only grow; what is of an older one is dropped. Then ranks here look what they can
        commit."""
        mirrors = list(_of(world).homes[node].mirrors)
        before = mirrors[rank]
        if shown.epoch < before.epoch and not self._keeps_old():
            return world
        if shown.epoch == before.epoch:
            shown = shown._replace(reached=max(shown.reached, before.reached))
        mirrors[rank] = shown
        world = _home(world, node, mirrors=tuple(mirrors))
        for number in self._own(node):
            one = world.ranks[number]
            if one.worker is not None and one.worker.life == RUNNING:
                after = workers.commit(self._seen(world, number), number, one, self.shape, self.rules)
                world = put(world, number, after)
                self._check_commit(world, number)
        return world

    # -- parts --------------------------------------------------------------------------------------

    def _given_up(self, world: World) -> str:
        return _of(world).failure

    def _reachable(self, world: World, number: int) -> bool:
        return _of(world).records[number].state != "lost"

    def _is_awaited(self, world: World, call: Call) -> bool:
        service = _of(world).homes[call.leader].service
        return service != NOBODY and call in self.service.nodes[service].awaited

    def _rest(self, world: World, node: int) -> Node:
        return self.service.nodes[_of(world).homes[node].service]

    def _own(self, node: int) -> list[int]:
        return [rank for rank in range(self.shape.ranks) if self.shape.home(rank) == node]

    def _dead(self, world: World, node: int) -> frozenset[int]:
        """Whose end a service knows at once: only of its own node."""
        return frozenset(one for one in dead_ranks(world) if self.shape.home(one) == node)

    def _is_open(self, world: World, node: int, other: int) -> bool:
        return (node, other) not in _of(world).cut


def _of(world: World) -> Cluster:
    assert world.cluster is not None
    return world.cluster


def _with(world: World, **changes: object) -> World:
    return world._replace(cluster=_of(world)._replace(**changes))  # type: ignore[arg-type]


def _home(world: World, node: int, **changes: object) -> World:
    homes = list(_of(world).homes)
    homes[node] = homes[node]._replace(**changes)  # type: ignore[arg-type]
    return _with(world, homes=tuple(homes))


def _shown(rank: Rank) -> Shown:
    """What the rank's own board shows of it."""
    return Shown(rank.shown, rank.reached, rank.kept, rank.whole)


def _order(record: Record) -> tuple[int, int, bool]:
    at = _ORDER.index(record.state) if record.state in _ORDER else 0
    return record.epoch, at, not record.stopped


def _name(node: int) -> str | None:
    return None if node == NOBODY else str(node)


def _named(node: int) -> str:
    return "nobody" if node == NOBODY else f"node {node}"
