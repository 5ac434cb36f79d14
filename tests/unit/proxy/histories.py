"""Histories of ranks for tests of decisions: what boundaries they keep, and what belongs together."""

from __future__ import annotations

from jitc.proxy.ranks.cuts import Membership, RankHistory, Tally


def in_step(*numbers: int, ahead: int = 0) -> RankHistory:
    """Of a rank in one communicator that makes a collective in each minibatch. ahead: steps that it made alone, before
    it joined: its boundary of one number belongs with others' of a smaller one."""
    return RankHistory(tuple((number, after(number - ahead)) for number in numbers), after(max(numbers) - ahead))


def after(collectives: int) -> Tally:
    return Tally((Membership(1, collectives + 1),)) if collectives >= 0 else Tally()
