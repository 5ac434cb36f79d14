"""On which socket a program looks for a service: the user's own, or the system's; and that it stays with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from standin_node import Node
from toolkit.socket_places import CASES

Start = Callable[..., Any]


def test_whose_socket(folder: Path, client: Start) -> None:
    """All cases in one process: variables are read, and files looked at, with each question."""
    cases = []
    for case in CASES:
        (folder / case.what).mkdir()
        cases.append(case.make(folder / case.what))
    out, _ = client(f"""
for variables, system in {cases!r}:
    os.environ.update(variables)
    told(library().rt_service_socket(system.encode()).decode())
""").finish()
    assert out.splitlines() == [str(folder / case.what / case.chosen) for case in CASES]


def test_sessions_are_where_the_gpus_were_found(node: Node, client: Start) -> None:
    program = "assert gpus(); os.environ['JITC_SOCKET'] = '/nowhere'; told(Session().call(b'x')[0])"
    assert client(program).finish() == ("0", "")
    assert len(node.attached) == 1
