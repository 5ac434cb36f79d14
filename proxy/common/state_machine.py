"""Explicit state machines: a table of what may happen, and an error for what may not.

Called by: workers' supervision, sessions, recoveries. A state that a table does not know, or an event
that is impossible in a state, is a defect of ours and raises; it is never passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Generic, TypeVar

State = TypeVar("State", bound=Enum)
Event = TypeVar("Event", bound=Enum)


class ImpossibleEvent(Exception):
    """This event cannot happen in this state."""


class Machine(Generic[State, Event]):
    """A state, and the only ways out of it."""

    def __init__(self, name: str, table: Mapping[tuple[State, Event], State], start: State) -> None:
        self._name, self._table = name, table
        self.state = start

    def fire(self, event: Event) -> State:
        target = self._table.get((self.state, event))
        if target is None:
            raise ImpossibleEvent(f"{self._name}: {event.value} while {self.state.value}")
        self.state = target
        return target

    def can(self, event: Event) -> bool:
        return (self.state, event) in self._table
