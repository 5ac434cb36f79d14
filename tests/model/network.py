"""What can happen next in a world: ops, calls, replies, deaths, each with the world after it.

Called by: explore.py. Promises: every order of what is under way is among the successors, also calls that arrive long
after the service has lost interest in them; what nobody can see any more is left out, so that equal worlds are one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from . import worker as workers
from .possible import can_be_recovered
from .service import Node, Service
from .state import DAMAGED, FENCED, GARBAGE, OWN, RUNNING, WHOLE, Call, Finish, Rank, Shape, Violation, Worker, World
from .worker import Reply, Rules

#: Of no use and no harm once nobody waits for the answer.
ONLY_ASK = frozenset({"BoundaryTable", "Export"})


class Network:
    """The rules of one exploration. Its worlds begin with `first`."""

    def __init__(self, shape: Shape, rules: Rules = frozenset()) -> None:
        self.shape, self.rules = shape, rules
        self.service = Service(shape)
        worker = Worker(1, RUNNING, content=0, restored=True)
        kept = ((0, OWN if shape.peer_mode else WHOLE),) if shape.steady else ()
        ranks = tuple(Rank(worker, stream=1, kept=kept, whole=not shape.steady) for _ in range(shape.ranks))
        self.first = World(
            ranks, self.service.first, faults=shape.faults, damages=shape.damages, restarts=shape.restarts
        )

    def node(self, world: World) -> Node:
        return self.service.nodes[world.service]

    def is_good_end(self, world: World) -> bool:
        """The programs have come to their end, everything is served, and nothing is under way."""
        if self._given_up(world):
            return True  # rightly: anything else is a Violation
        busy = world.calls or world.replies or world.notices or self.node(world).recovering
        return not busy and all(self._is_done(number, one) for number, one in enumerate(world.ranks))

    def _is_done(self, number: int, rank: Rank) -> bool:
        worker = rank.worker
        at_end = worker is not None and worker.life == RUNNING and worker.cursor == self.shape.last(number)
        return at_end and not worker.imported and rank.got == self.shape.boundaries  # type: ignore[union-attr]

    def next(self, world: World) -> Iterator[tuple[str, World]]:
        """What happens, and the world after it. Raises Violation."""
        for what, after in self._any(world):
            yield (what, self._at_once(after)) if self.shape.prompt else (what, after)

    def _at_once(self, world: World) -> World:
        """What programs do at once, and replies that are heard at once, where they are prompt."""
        while not self._given_up(world):
            steps = (step for number, rank in enumerate(world.ranks) for step in self._program(world, number, rank))
            step = next(steps, None) or next(self._replies(world), None)
            if step is None:
                break
            world = step[1]
        return world

    def _any(self, world: World) -> Iterator[tuple[str, World]]:
        if self._given_up(world):
            return
        for number, rank in enumerate(world.ranks):
            yield from self._rank(world, number, rank)
        for call in dict.fromkeys(world.calls):
            yield from self._serve(world, call)
        yield from self._heard(world)
        if world.restarts:
            node = self.service.restarts(world.service, dead_ranks(world))
            yield (
                "the service is killed; another takes over",
                self._told(world._replace(restarts=world.restarts - 1), node),
            )

    # -- ranks --------------------------------------------------------------------------------------

    def _rank(self, world: World, number: int, rank: Rank) -> Iterator[tuple[str, World]]:
        if rank.worker is None:
            return
        if world.faults:
            lost = self._dies(world._replace(faults=world.faults - 1), number)
            gone = lost.gone or not can_be_recovered(lost.ranks, self.shape)
            yield (
                f"rank {number}: its worker is killed{', with the last of the state' * gone}",
                lost._replace(gone=gone),
            )
        if world.damages and (rank.last_kept(), WHOLE) in rank.kept:
            hurt = rank._replace(kept=(*rank.kept[:-1], (rank.last_kept(), DAMAGED)))
            damaged = put(world._replace(damages=world.damages - 1), number, hurt)
            gone = damaged.gone or not can_be_recovered(damaged.ranks, self.shape)
            yield f"rank {number}: a copy of boundary {rank.last_kept()} is damaged", damaged._replace(gone=gone)
        yield from self._program(world, number, rank)
        yield from self._run(world, number)

    def _run(self, world: World, number: int) -> Iterator[tuple[str, World]]:
        ran = workers.run(self._seen(world, number), number, self.shape, self.rules)
        if ran is not None:
            after = self._finished(put(world, number, ran[0]), number)
            self._check_commit(after, number)
            yield f"rank {number}: {ran[1]}", after

    def _check_commit(self, world: World, number: int) -> None:
        """A boundary is committed only when every rank has one that belongs with it."""
        committed = world.ranks[number].committed
        for at, one in enumerate(world.ranks):
            has = self.shape.collectives(one.last_kept(), at)
            if committed and has < self.shape.collectives(committed, number):
                raise Violation(
                    f"rank {number} commits boundary {committed}, and rank {at} has none that belongs to it"
                )

    # -- what is another where there are several nodes ------------------------------------------------

    def _given_up(self, world: World) -> str:
        return self.node(world).failure

    def _reachable(self, world: World, number: int) -> bool:
        return self.node(world).reachable(number)

    def _seen(self, world: World, number: int) -> Sequence[Rank]:
        """All ranks, as the board shows them to this one."""
        return world.ranks

    def _is_awaited(self, world: World, call: Call) -> bool:
        return call in self.node(world).awaited

    def _program(self, world: World, number: int, rank: Rank) -> Iterator[tuple[str, World]]:
        worker, shape, name = rank.worker, self.shape, f"rank {number}"
        if worker is None:
            return
        if rank.stream != worker.number:
            if worker.life in (FENCED, RUNNING) and self._reachable(world, number):
                first = 1 if "attach-sends-all" in self.rules else rank.got + 1
                owed = () if "attach-sends-nothing" in self.rules else tuple(range(first, rank.results + 1))
                yield (
                    f"{name}: the program connects again",
                    put(world, number, rank._replace(stream=worker.number, worker=worker._replace(out=owed))),
                )
        else:
            op = rank.received + 1
            if op <= shape.last(number) and rank.got >= shape.needed(op, number):
                arrived = put(world, number, rank._replace(received=op))
                yield f"{name}: op {op} arrives, a {shape.part(op, number)}", arrived
            if worker.out:
                yield f"{name}: the program gets result {worker.out[0]}", self._delivered(world, number)

    def _delivered(self, world: World, number: int) -> World:
        rank = world.ranks[number]
        assert rank.worker is not None
        result, *rest = rank.worker.out
        if result != rank.got + 1:
            how = "again" if result <= rank.got else "before the ones between"
            raise Violation(f"rank {number} has {rank.got} results and gets result {result} {how}")
        return put(world, number, rank._replace(got=result, worker=rank.worker._replace(out=tuple(rest))))

    def _dies(self, world: World, number: int) -> World:
        """What was under way to it fails; the service hears of the death by and by."""
        rank = world.ranks[number]
        assert rank.worker is not None
        here = {one for one in world.calls if one.rank == number}
        finish = rank.worker.finish
        answered = {*here, *([finish.call] if finish else [])}
        world = put(world, number, rank._replace(worker=None, stream=0))._replace(
            calls=tuple(one for one in world.calls if one not in here),
            notices=(*world.notices, (number, rank.worker.number)),
        )
        for call in sorted(answered):
            world = self._answer(world, call, workers.ERROR)
        return world

    def _finished(self, world: World, number: int) -> World:
        """Replies to the call that had the session run to a boundary, if it is there."""
        rank = world.ranks[number]
        worker = rank.worker
        if worker is None or worker.finish is None or worker.life == RUNNING:
            return world
        call = worker.finish.call
        world = put(world, number, rank._replace(worker=worker._replace(finish=None)))
        return self._answer(world, call, workers.DONE)

    # -- calls --------------------------------------------------------------------------------------

    def _serve(self, world: World, call: Call) -> Iterator[tuple[str, World]]:
        rank = world.ranks[call.rank]
        before: Finish | None = rank.worker.finish if rank.worker is not None else None
        served = workers.serve(world.ranks, call, self.shape, self.rules)
        if served is None:
            return
        after, reply = served
        late = not self._is_awaited(world, call)
        if late and call.method == "Import" and reply == workers.DONE and after.worker is not None:
            # The memory that the request names is gone; its name may be another's by now.
            after = after._replace(worker=after.worker._replace(content=GARBAGE))
        if call.method == "Resume" and reply == workers.DONE:
            world = self._resumed(world, call, after)
        rest = list(world.calls)
        rest.remove(call)
        world = put(world._replace(calls=tuple(rest)), call.rank, after)
        if before is not None and (after.worker is None or after.worker.finish is None):
            world = self._answer(world, before.call, workers.ERROR)  # a newer fence has ended it
        if reply is not None:
            world = self._answer(world, call, reply)
        where = f" to boundary {call.boundary}" if call.boundary else ""
        word = f"rank {call.rank}: {'late ' * late}{call.method} of epoch {call.epoch}{where}"
        yield f"{word}: {said(reply)}", world

    def _resumed(self, world: World, call: Call, after: Rank) -> World:
        """All ranks of an epoch must go on from boundaries that belong together."""
        assert after.worker is not None
        collectives = self.shape.collectives(after.worker.imported or after.prepared, call.rank)
        epoch, other = world.resumed
        if epoch == call.epoch and other != collectives:
            raise Violation(
                f"epoch {epoch}: rank {call.rank} goes on after {collectives} collectives, another after {other}"
            )
        return world._replace(resumed=max(world.resumed, (call.epoch, collectives)))

    def _answer(self, world: World, call: Call, reply: Reply) -> World:
        if not self._is_awaited(world, call):
            return world
        return world._replace(replies=tuple(sorted([*world.replies, (call, reply)], key=repr)))

    # -- the service --------------------------------------------------------------------------------

    def _heard(self, world: World) -> Iterator[tuple[str, World]]:
        dead = dead_ranks(world)
        yield from self._replies(world)
        for rank, number in world.notices:
            rest_of = tuple(one for one in world.notices if one != (rank, number))
            node = self.service.hears(world.service, ("death", rank, number), dead)
            yield (
                f"the service hears of the death of rank {rank}'s worker",
                self._told(world._replace(notices=rest_of), node),
            )
        if self._has_replayed(world):
            node = self.service.hears(world.service, ("replayed",), dead)
            yield "the service sees the replay's end", self._told(world, node)

    def _replies(self, world: World) -> Iterator[tuple[str, World]]:
        for call, reply in world.replies:
            rest = tuple(one for one in world.replies if one[0] != call)
            node = self.service.hears(world.service, ("reply", call, reply), dead_ranks(world))
            yield (
                f"the service hears of {call.method} of rank {call.rank}: {said(reply)}",
                self._told(world._replace(replies=rest), node),
            )

    def _has_replayed(self, world: World) -> bool:
        ends = self.node(world).ends
        return ends is not None and all(
            one.worker is not None and one.worker.cursor >= end for one, end in zip(world.ranks, ends, strict=True)
        )

    def _told(self, world: World, number: int) -> World:
        """What the service did: workers killed and started, calls made."""
        node = self.service.nodes[number]
        world = world._replace(service=number)
        if node.failure and not world.gone:
            raise Violation(f"the job is given up, though its state was still there: {node.failure}")
        if node.failure:
            return world._replace(calls=(), replies=(), notices=())
        for rank, newest in enumerate(node.workers):
            one = world.ranks[rank]
            if newest != one.workers:
                if one.worker is not None:
                    world = self._dies(world, rank)
                fresh = world.ranks[rank]._replace(worker=Worker(newest), workers=newest)
                world = put(world, rank, fresh)
            if (rank, newest) in node.killed and world.ranks[rank].worker is not None:
                world = self._dies(world, rank)
        kept = [one for one in world.calls if one in node.awaited or one.method not in ONLY_ASK]
        world = world._replace(
            calls=tuple(sorted(kept)),
            replies=tuple(one for one in world.replies if one[0] in node.awaited),
            notices=tuple(sorted({one for one in world.notices if one[1] == world.ranks[one[0]].workers})),
        )
        for call in node.calls:
            alive = world.ranks[call.rank].worker
            if alive is not None and alive.number == call.worker:
                world = world._replace(calls=tuple(sorted([*world.calls, call])))
            else:
                world = self._answer(world, call, workers.ERROR)
        return world


def dead_ranks(world: World) -> frozenset[int]:
    return frozenset(number for number, one in enumerate(world.ranks) if one.worker is None)


def put(world: World, number: int, rank: Rank) -> World:
    return world._replace(ranks=(*world.ranks[:number], rank, *world.ranks[number + 1 :]))


def said(reply: Reply | None) -> str:
    if reply is None:
        return "it runs on to there"
    kind, *what = reply
    if kind == "position":
        *counts, executed, received, _ = what
        names = ("committed", "prepared", "reached", "begun")
        counted = ", ".join(f"{name} {count}" for name, count in zip(names, counts, strict=True))
        return f"{counted}, ops {executed} of {received}"
    if kind == "reply":
        return "done" if what[0] else "a block is missing" if what[1] else "refused for good"
    return "refused, or the worker is dead" if kind == "error" else str(kind)
