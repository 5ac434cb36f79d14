"""Who may act for a session of a job over nodes: the rules of homes and leaders, without what they are applied to.

Called by: leads.py and home/ (this node's sessions), and the model of recoveries (docs/model.md). Pure, but for `Away`,
which is guarded by the registry's lock. Promises: a node is admitted only as the leader that the home follows, in the
term that the home has given it; one and the same leader gets another term when it begins anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


@dataclass
class Away:
    """A session that is not led by the node where it is, its home. Guarded by the registry's lock."""

    leader: str | None
    term: int = 0  # 0: the home's coordinator is still letting it go, or nobody leads it
    letting_go: bool = False
    noted: int = 0  # version of the newest state that the leader has told in this term (a stamp of its node)

    def follow(self, leader: str | None, term: int) -> None:
        """Begins another leader's term; it may be the same one's."""
        self.leader, self.noted, self.term = leader, 0, term if leader is not None else 0


class Duty(Enum):
    """The next step of a home with one of its sessions."""

    NOTHING = "nothing"
    LET_GO = "its coordinator lets it go"
    FOLLOW = "another term begins, of whom leads now"


def admits(away: Away | None, leader: str, term: int) -> bool:
    """Returns whether a node may act for a session in this term. away: by what the session's home knows; None: the home
    leads it."""
    return away is not None and not away.letting_go and (away.leader, away.term) == (leader, term)


def duty(home: str, away: Away | None, leader: str | None, refused: bool = False) -> Duty:
    """Returns what a home has to do. leader: who leads by what the home knows; refused: the store has not let the home
    recover it."""
    if away is None:
        return Duty.NOTHING if leader == home and not refused else Duty.LET_GO
    another = followed(home, leader) != away.leader
    return Duty.FOLLOW if another and not away.letting_go else Duty.NOTHING


def followed(home: str, leader: str | None) -> str | None:
    """Returns whom a home follows that has let a session go. It leads only what it has taken."""
    return None if leader == home else leader


def may_take(home: str, away: Away, leader: str | None, refused: bool = False) -> bool:
    """Returns whether a home may begin to lead a session that it has let go."""
    return not away.letting_go and not refused and leader == home
