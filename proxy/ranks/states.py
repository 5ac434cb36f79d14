"""The states of a session, and what leads from one to the next.

Used by: sessions (../node/session.py), which have the machine; recoveries, which drive it; all code that looks at
sessions. Pure.
"""

from __future__ import annotations

from enum import Enum


class SessionState(Enum):
    OPENING = "opening"
    SERVING = "serving"
    FENCED = "fenced"  # its worker lives, it executes nothing
    LOST = "lost"  # its worker is dead
    STANDBY = "held"  # a new worker has it, fenced; documents keep the older word
    FAILED = "failed"  # given up; the text says why
    CLOSED = "closed"


class SessionEvent(Enum):
    OPENED = "opened"
    FENCE = "fence"
    LOSE = "lose its worker"
    REBUILD = "rebuild"
    RESUME = "resume"
    FAIL = "fail"
    CLOSE = "close"


_S, _E = SessionState, SessionEvent
SESSION_TABLE = {
    (_S.OPENING, _E.OPENED): _S.SERVING,
    (_S.SERVING, _E.FENCE): _S.FENCED,
    (_S.FENCED, _E.FENCE): _S.FENCED,  # a second fault restarts the recovery
    (_S.STANDBY, _E.FENCE): _S.STANDBY,
    (_S.FAILED, _E.FENCE): _S.FAILED,
    (_S.SERVING, _E.LOSE): _S.LOST,
    (_S.FENCED, _E.LOSE): _S.LOST,
    (_S.STANDBY, _E.LOSE): _S.LOST,
    (_S.LOST, _E.LOSE): _S.LOST,
    (_S.FAILED, _E.LOSE): _S.FAILED,
    (_S.LOST, _E.REBUILD): _S.STANDBY,
    (_S.FENCED, _E.RESUME): _S.SERVING,
    (_S.STANDBY, _E.RESUME): _S.SERVING,
    **{(state, _E.FAIL): _S.FAILED for state in (_S.SERVING, _S.FENCED, _S.LOST, _S.STANDBY, _S.FAILED)},
    **{(state, _E.CLOSE): _S.CLOSED for state in _S},
}
#: Sessions in these states take no part in recoveries.
OUTSIDE = (SessionState.OPENING, SessionState.FAILED, SessionState.CLOSED)
#: In these states a session takes part in one.
RECOVERING = (SessionState.FENCED, SessionState.LOST, SessionState.STANDBY)
#: In these a training process can connect to a living worker; a failed session gets its error there.
REACHABLE = (SessionState.SERVING, SessionState.FENCED, SessionState.STANDBY, SessionState.FAILED)
