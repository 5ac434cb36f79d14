"""What a worker does: ops, and the calls of a recovery. Transcribed from proxy/native/executor.

Called by: network.py. Promises: each function takes a rank and gives the rank after it; `rules` are the names of rules
that a mutant leaves out, and nothing else changes what is done. test_model_tables.py compares the checks of epochs with
those of the sources.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from jitc.proxy.ranks.cuts import Membership, RankHistory, Tally, newest_cut

from .state import FENCED, GARBAGE, NEW, OWN, RUNNING, WHOLE, Call, Finish, Rank, Shape, Violation, Worker

Rules = frozenset[str]
#: A reply: its kind, and what it says. `error`: the call is refused, and the service takes the worker for lost.
Reply = tuple[object, ...]
DONE: Reply = ("reply", True, False)
MISSING: Reply = ("reply", False, True)
REFUSED: Reply = ("reply", False, False)
ERROR: Reply = ("error",)
#: Calls that a worker refuses once a newer fence has been asked for (Lifecycle::begin_command).
CHECKED = frozenset({"Keep", "Rollback", "FinishStep", "SkipStep", "Resume", "Export", "Import"})
#: Calls that need a fenced session (Lifecycle::require_fenced).
STANDING = CHECKED


# -- ops --------------------------------------------------------------------------------------------


def run(ranks: Sequence[Rank], number: int, shape: Shape, rules: Rules) -> tuple[Rank, str] | None:
    """The next thing that the dispatcher of a rank does, and its name; None: it waits."""
    rank = ranks[number]
    worker = rank.worker
    if worker is None or worker.life != RUNNING:
        return None
    if worker.imported:
        made = publish(ranks, number, worker.imported, shape, rules)
        return _parked(_with(made, imported=0), worker.imported), f"makes boundary {worker.imported} that it took over"
    op = worker.cursor + 1
    if op > rank.received:
        return None
    if worker.content != worker.cursor:
        raise Violation(f"rank {number} runs op {op} on the content of op {worker.content}")
    step = {"collective": _collective, "step": _begin_step, "boundary": _boundary}[shape.part(op, number)]
    return step(ranks, number, op, shape, rules)


def _collective(ranks: Sequence[Rank], number: int, op: int, shape: Shape, rules: Rules) -> tuple[Rank, str] | None:
    rank, k = ranks[number], shape.minibatch(op, number)
    worker = _worker(rank)
    first, newest = worker.joined
    if newest < k or not first:
        return _with(rank, joined=(first or k, k)), f"joins collective {k}"
    for other in ranks:
        theirs = _joined(other, worker.epoch, rules)
        if theirs is None or theirs[1] - theirs[0] < k - first:
            return None  # its part has not come
        if theirs[0] != first:
            raise Violation(f"collective {k} of rank {number} gets what another rank gave to {theirs[0] + k - first}")
    done = _advanced(rank)
    if rank.results >= k:  # a replay: compared, not delivered
        if "replay-delivers-again" in rules:
            done = _with(done, out=(*_worker(done).out, k))
        return done, f"completes collective {k} again"
    done = _with(done, out=(*_worker(done).out, k))
    return done if "results-not-in-journal" in rules else done._replace(
        results=k
    ), f"completes collective {k}, a result"


def _joined(other: Rank, epoch: int, rules: Rules) -> tuple[int, int] | None:
    """What a rank has given in the segments of this epoch, also when it has been stopped since."""
    worker = other.worker
    if worker is None or not worker.joined[0]:
        return None
    return worker.joined if worker.epoch == epoch or "segments-stay" in rules else None


def _begin_step(ranks: Sequence[Rank], number: int, op: int, shape: Shape, rules: Rules) -> tuple[Rank, str] | None:
    rank, k = ranks[number], shape.minibatch(op, number)
    finishes = _worker(rank).finish is not None
    if rank.reached < k:
        reached = commit(ranks, number, rank._replace(step=k, reached=k), shape, rules)
        return reached, f"reaches step {k}, with pre-step copies"
    gathered = min(one.reached for one in ranks if one.counted) >= k
    if not gathered and not finishes and "no-barrier" not in rules:
        return None
    return _advanced(rank)._replace(begun=max(rank.begun, k)), f"begins step {k}"


def _boundary(ranks: Sequence[Rank], number: int, op: int, shape: Shape, rules: Rules) -> tuple[Rank, str] | None:
    k = shape.boundary(op, number)
    made = publish(ranks, number, k, shape, rules)
    return _parked(_advanced(made), k), f"makes boundary {k}"


def publish(ranks: Sequence[Rank], number: int, k: int, shape: Shape, rules: Rules) -> Rank:
    """The copies and the record are there, then the board says so, then it may be committed."""
    rank = ranks[number]
    finish = _worker(rank).finish
    whole = not shape.peer_mode or (finish is not None and finish.call.method == "Keep")
    made = rank._replace(
        kept=(*rank.kept, (k, WHOLE if whole else OWN)),
        step=0,
        prepared=k,
        reached=max(rank.reached, k),
        begun=max(rank.begun, k),
    )
    if "announce-before-record" in rules and number == 0 and not rank.kept:
        made = made._replace(kept=rank.kept)
    return commit(ranks, number, made, shape, rules)


def commit(ranks: Sequence[Rank], number: int, rank: Rank, shape: Shape, rules: Rules = frozenset()) -> Rank:
    """What belongs with a boundary of every other rank is committed; what is older is forgotten."""
    if "commit-alone" in rules:
        committed = rank.prepared
    elif "commit-by-number" in rules:
        committed = min([rank.prepared, *(one.prepared for at, one in enumerate(ranks) if at != number)])
    else:
        seen = [rank if at == number else one for at, one in enumerate(ranks)]
        committed = _newest_common(shape, tuple(tally_numbers(one, rules) if one.counted else None for one in seen))[
            number
        ]
    if committed <= rank.committed or not rank.kept:
        return rank
    kept = tuple(one for one in rank.kept[:-1] if one[0] >= committed) + rank.kept[-1:]
    return rank._replace(committed=committed, kept=kept, whole=rank.whole and kept[0][0] > committed)


def tally_numbers(rank: Rank, rules: Rules = frozenset()) -> tuple[int, ...]:
    """The boundaries that it can go back to, and the start where the journal begins there."""
    numbers = [0] * rank.whole + [number for number, _ in rank.kept]
    if "announce-before-record" in rules and rank.prepared not in numbers:
        numbers.append(rank.prepared)
    return tuple(numbers)


@functools.cache
def _newest_common(shape: Shape, shown: tuple[tuple[int, ...] | None, ...]) -> tuple[int, ...]:
    """By the rule of base/tally.cpp, which cuts.py has too; 0: nothing in common. None: the rank is not counted."""
    seen = {rank: history(shape, rank, numbers) for rank, numbers in enumerate(shown) if numbers is not None}
    cut = newest_cut(seen)
    return tuple(cut.get(rank, 0) for rank in range(len(shown))) if cut else (0,) * len(shown)


def history(shape: Shape, rank: int, numbers: Sequence[int]) -> RankHistory:
    """All ranks are in one communicator from the start."""
    kept = [(number, Tally((Membership(1, 1 + shape.collectives(number, rank)),))) for number in numbers]
    return RankHistory(tuple(kept), kept[-1][1] if kept else Tally())


def _advanced(rank: Rank) -> Rank:
    worker = _worker(rank)
    return _with(rank, content=worker.content + 1, cursor=worker.cursor + 1)


def _parked(rank: Rank, k: int) -> Rank:
    """A session that was to run to this boundary stands still after it; network.py sends the reply."""
    finish = _worker(rank).finish
    if finish is None or finish.boundary > k:
        return rank
    return _with(rank, life=FENCED, restored=True)


# -- calls ------------------------------------------------------------------------------------------


def serve(ranks: Sequence[Rank], call: Call, shape: Shape, rules: Rules) -> tuple[Rank, Reply | None] | None:
    """The rank after the call and the reply; no reply: it comes when the session has run to a boundary. None: the call
    waits at the worker."""
    rank = ranks[call.rank]
    worker = _worker(rank)
    told = call.told and not (call.method == "Import" and "import-without-epoch" in rules)
    outdated = told and worker.newest > call.epoch and "no-epoch-check" not in rules
    if call.method in CHECKED and outdated:
        return rank, ERROR
    if call.method in STANDING and worker.life != FENCED:
        return rank, ERROR
    act = {
        "OpenSession": _open, "Fence": _fence, "Keep": _keep, "Rollback": _rollback, "FinishStep": _finish_step,
        "SkipStep": _skip_step, "Resume": _resume, "Export": _export, "Import": _import, "BoundaryTable": _table,
    }[call.method]  # fmt: skip
    return act(rank, call, shape, rules)


def _open(rank: Rank, call: Call, shape: Shape, rules: Rules) -> tuple[Rank, Reply | None]:
    """From the journal: nothing is executed until it is known where to go on from."""
    worker = _worker(rank)._replace(
        life=RUNNING if "rebuilt-runs-at-once" in rules else FENCED,
        epoch=call.epoch, content=GARBAGE, cursor=0, restored=False, lost=True,
    )  # fmt: skip
    if "rebuilt-runs-at-once" not in rules:
        worker = worker._replace(cursor=rank.received)
    return rank._replace(worker=worker, prepared=rank.last_kept()), DONE


def _fence(rank: Rank, call: Call, shape: Shape, rules: Rules) -> tuple[Rank, Reply | None]:
    worker = _worker(rank)
    if worker.newest > call.epoch and "no-epoch-check" not in rules:
        return rank, ERROR
    if worker.life == NEW:
        return rank, ERROR
    running = worker.life == RUNNING and "fence-does-not-stop" not in rules
    at = shape.minibatch(worker.cursor, call.rank) if worker.cursor else 0
    # What was issued has run: right after a boundary, and from where a step is reached.
    quiet = not at or shape.part(worker.cursor, call.rank) != "collective" or (shape.peer_mode and rank.reached >= at)
    joins = worker.joined[1] > at
    worker = worker._replace(
        life=FENCED if running else worker.life, epoch=call.epoch, finish=None,
        newest=worker.newest if "fence-forgets-epoch" in rules else call.epoch, severed=False,
        joined=worker.joined if "segments-stay" in rules else (0, 0),
        restored=(quiet and not joins) if running else worker.restored,
    )  # fmt: skip
    rank = rank._replace(worker=worker)
    kept = tally_numbers(rank)
    position = (rank.committed, rank.prepared, rank.reached, rank.begun, worker.cursor, rank.received, kept)
    return rank, ("position", *position)


def _rollback(rank: Rank, call: Call, shape: Shape, rules: Rules) -> tuple[Rank, Reply | None]:
    b, worker = call.boundary, _worker(rank)
    kept = dict(rank.kept)
    if b not in kept and not (b == 0 and rank.whole):
        return rank, REFUSED
    copies = kept.get(b, WHOLE)
    whole = copies == WHOLE
    holds = copies == OWN and not worker.lost and shape.holds(worker.content, b, call.rank)
    complete = whole or holds or "missing-is-complete" in rules
    rank = rank._replace(kept=tuple(one for one in rank.kept if one[0] <= b), step=0, committed=min(rank.committed, b))
    if "rollback-leaves-board" not in rules:
        rank = rank._replace(prepared=b, reached=b, begun=b)
    content = shape.at(b, call.rank) if whole or holds else GARBAGE
    lost = worker.lost and "lost-until-resume" in rules
    rank = _with(rank, content=content, cursor=shape.at(b, call.rank), imported=0, restored=True, lost=lost)
    return rank, DONE if complete else MISSING


def _finish_step(rank: Rank, call: Call, shape: Shape, rules: Rules) -> tuple[Rank, Reply | None]:
    return _finish(rank, call, call.boundary, shape, rules)


def _finish(rank: Rank, call: Call, b: int, shape: Shape, rules: Rules) -> tuple[Rank, Reply | None]:
    worker = _worker(rank)
    whole = worker.content != GARBAGE and not worker.lost
    at = worker.restored and whole and not worker.imported and worker.cursor == shape.at(b, call.rank)
    if at and rank.last_kept() == b:
        return rank, DONE
    if b in dict(rank.kept):
        return _rollback(rank, call._replace(boundary=b), shape, rules)
    if b != rank.prepared + 1:
        return rank, REFUSED
    taken_over = worker.imported == b and "finish-forgets-import" not in rules
    if not taken_over and (rank.reached < b or not worker.restored or worker.imported):
        return rank, REFUSED
    return _with(rank, life=RUNNING, finish=Finish(call, b), lost=False), None


def _keep(rank: Rank, call: Call, shape: Shape, rules: Rules) -> tuple[Rank, Reply | None]:
    worker, newest = _worker(rank), rank.last_kept()
    if not shape.peer_mode or worker.lost or not rank.kept:
        return rank, DONE
    if rank.begun >= rank.prepared + 1 or worker.imported == rank.prepared + 1:
        return _finish(rank, call, rank.prepared + 1, shape, rules)
    if dict(rank.kept)[newest] != OWN:
        return rank, DONE
    if worker.imported or not shape.holds(worker.content, newest, call.rank):
        return rank, MISSING
    return rank._replace(kept=(*rank.kept[:-1], (newest, WHOLE))), DONE


def _skip_step(rank: Rank, call: Call, shape: Shape, rules: Rules) -> tuple[Rank, Reply | None] | None:
    b, worker = call.boundary, _worker(rank)
    kept = dict(rank.kept)
    if b in kept:
        return _rollback(rank, call, shape, rules)
    if b - 1 not in kept and b - 1 != 0:
        return rank, REFUSED
    if rank.received < shape.at(b, call.rank):
        return None  # the program has not got there
    if rank.step != b or rank.results < b:
        return rank, REFUSED
    rank = rank._replace(prepared=b - 1, reached=b - 1, begun=b - 1, committed=min(rank.committed, b - 1))
    if "skip-keeps-content" in rules:
        return _with(
            rank, content=shape.at(b - 1, call.rank), cursor=shape.at(b, call.rank), imported=b, restored=True
        ), DONE
    lost = worker.lost and "lost-until-resume" in rules
    return _with(rank, content=GARBAGE, cursor=shape.at(b, call.rank), imported=b, restored=True, lost=lost), MISSING


def _resume(rank: Rank, call: Call, shape: Shape, rules: Rules) -> tuple[Rank, Reply | None]:
    worker = _worker(rank)
    if not worker.restored:
        return rank, ERROR
    if "resume-drops-import" in rules:
        rank = _with(rank, imported=0)
    return _with(rank._replace(shown=call.epoch * (shape.nodes > 1)), life=RUNNING, epoch=call.epoch, lost=False), DONE


def _export(rank: Rank, call: Call, shape: Shape, rules: Rules) -> tuple[Rank, Reply | None]:
    return rank, DONE if shape.holds(_worker(rank).content, call.boundary, call.rank) else ERROR


def _import(rank: Rank, call: Call, shape: Shape, rules: Rules) -> tuple[Rank, Reply | None]:
    return _with(rank, content=shape.at(call.boundary, call.rank)), DONE


def _table(rank: Rank, call: Call, shape: Shape, rules: Rules) -> tuple[Rank, Reply | None]:
    return rank, ("table",) if call.boundary in dict(rank.kept) else ERROR


def _worker(rank: Rank) -> Worker:
    assert rank.worker is not None
    return rank.worker


def _with(rank: Rank, **changes: object) -> Rank:
    return rank._replace(worker=_worker(rank)._replace(**changes))  # type: ignore[arg-type]
