"""Explicit state machines: a table of the possible transitions, and an error for all others.

Called by: the supervision of workers, sessions, recoveries. Promise: an event that the table does not have for the
current state is a defect of jitc and raises ImpossibleEvent; it is never ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Generic, TypeVar

State = TypeVar("State", bound=Enum)
Event = TypeVar("Event", bound=Enum)


class ImpossibleEvent(Exception):
    """The table has no such event in this state."""


class Machine(Generic[State, Event]):
    """A state, and its possible transitions."""

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
