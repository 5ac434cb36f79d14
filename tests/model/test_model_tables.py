"""What the model says of a worker is what the sources say: which calls need a fence, which an epoch, who changes the
state."""

from __future__ import annotations

import re
from pathlib import Path

from toolkit.tree import ROOT, tracked

from jitc.v1 import worker_pb2
from model.worker import CHECKED, STANDING

EXECUTOR = "proxy/native/executor"
SERVICE = worker_pb2.DESCRIPTOR.services_by_name["Worker"]
#: Direct transfers take the place of Export and Import; the model has the latter. A newer fence cancels them, which is
#: an answer like any other (test_direct_transfers.py).
DIRECT = {"Send", "Receive"}
#: Of a worker's life or of what users ask, not of a recovery; Abandon ends a session.
NOT_MODELLED = {
    "Assign", "Ping", "CloseSession", "Abandon", "SetPolicy", "SetSpacing", "Validate", "Hold", "Tell", "Arm", "Stats",
    *DIRECT,
}  # fmt: skip
#: Function -> the states that it puts a session into.
TRANSITIONS = {
    "Recovery::stop_dispatcher": {"fenced"},
    "Recovery::abandon": {"over"},
    "SessionCore::stop_backend": {"fenced"},
    "SessionCore::start": {"running"},
    "SessionCore::fault": {"faulted"},
    "Session::stop": {"fenced"},
}


def sources() -> dict[str, str]:
    found = {str(one.relative_to(ROOT)): one.read_text() for one in tracked(f"{EXECUTOR}/*.cpp")}
    assert len(found) > 20
    return found


def functions(text: str) -> dict[str, str]:
    """Definitions at the left margin, by their qualified names."""
    parts = re.split(r"^(?=[A-Za-z][^\n;]*\b\w+::~?\w+\()", text, flags=re.MULTILINE)
    named = ((re.match(r"[^\n(]*?(\w+::~?\w+)\(", part), part) for part in parts)
    return {found[1]: part for found, part in named if found}


def test_calls_that_need_a_fence_and_an_epoch() -> None:
    fenced, checked = set(), set()
    for text in sources().values():
        for found in re.finditer(r'require_fenced\("(\w+)"\);\n\s*(.*)', text):
            fenced.add(found[1])
            if "begin_command(" in found[2]:
                checked.add(found[1])
    assert fenced == STANDING | DIRECT
    assert checked == CHECKED


def test_calls_that_are_refused_by_their_epoch_name_it() -> None:
    without = {
        one
        for one in CHECKED | DIRECT | {"Fence"}
        if "epoch" not in SERVICE.methods_by_name[one].input_type.fields_by_name
    }
    assert without == set()


def test_every_call_of_a_recovery_is_in_the_model() -> None:
    known = CHECKED | {"OpenSession", "Fence", "BoundaryTable"}
    assert known | NOT_MODELLED == {one.name for one in SERVICE.methods}
    assert not known & NOT_MODELLED


def test_who_changes_the_state_of_a_session() -> None:
    found: dict[str, set[str]] = {}
    for text in sources().values():
        for name, body in functions(text).items():
            states = set(re.findall(r"\b(?:life\.)?state = (?:Lifecycle::)?State::(\w+)", body))
            if states:
                found[name] = states
    assert found == TRANSITIONS


def test_a_rebuilt_session_begins_fenced() -> None:
    text = (Path(ROOT) / EXECUTOR / "core" / "session_core.cpp").read_text()
    assert "life(request.rebuild ? Lifecycle::State::fenced : Lifecycle::State::running" in text
