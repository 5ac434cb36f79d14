"""On which socket commands look for a service, and where a service begins: the user's own, or the system's."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from toolkit.socket_places import CASES, NAMED, OWN, SYSTEM, Case

from jitc.proxy.commands import jitc as cli
from jitc.proxy.commands.options import NO_SERVICE, CommandError
from jitc.proxy.commands.questions.nodes import Whom
from jitc.proxy.commands.terminal.asking import Asking
from jitc.proxy.commands.terminal.signals import Signals
from jitc.proxy.common import paths


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path, since a socket's is limited."""
    with tempfile.TemporaryDirectory(prefix="js") as name:
        yield Path(name)


def prepare(case: Case, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variables, system = case.make(folder)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(paths, "SYSTEM_SOCKET", system)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_whose_socket(case: Case, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(case, folder, monkeypatch)
    assert paths.client_socket() == str(folder / case.chosen)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_a_service_does_not_move(case: Case, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(case, folder, monkeypatch)
    own = OWN if "XDG_RUNTIME_DIR" in case.variables else SYSTEM
    assert paths.default_socket() == str(folder / (NAMED if "JITC_SOCKET" in case.variables else own))


def test_unset_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JITC_SOCKET", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    assert paths.client_socket() == paths.default_socket() == "/run/jitc/proxyd.sock"


def test_defaults_of_both(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """With a service of the system alone, `jitc` asks that one, and jitc-proxyd would begin beside it."""
    from jitc.proxy.commands import proxyd

    prepare(Case("system-folder", (f"{SYSTEM}.d/",), SYSTEM), folder, monkeypatch)
    assert cli.main(["status"]) == NO_SERVICE
    assert f"no service on {folder / SYSTEM} " in capsys.readouterr().err
    assert proxyd.main(["--print-config"]) == 0
    out = capsys.readouterr().out
    assert str(folder / OWN) in out and str(folder / SYSTEM) not in out


def test_a_command_that_goes_on_stays_with_its_service(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the user's own service is away, and nothing of it is left, the system's is not shown in its place."""
    prepare(Case("both", (OWN, SYSTEM), OWN), folder, monkeypatch)
    with Signals() as signals:
        asking = Asking(Whom(None), signals)
        (folder / OWN).unlink()
        with pytest.raises(CommandError, match=f"no service on {folder / OWN} "):
            asking.ask("Status", None)
