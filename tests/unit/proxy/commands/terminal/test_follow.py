"""`jitc report --follow` against real services with faults: each recovery once, whatever happens to the service."""

from __future__ import annotations

import copy
import json
import os
import signal
import subprocess
import time
from typing import Any

import pytest
from client_rig import RealClient, check, train
from made_report import recovery
from proxyd_rig import PLAIN, Proxyd, close, worker_of
from terminals import JITC, Command, Commands
from toolkit.waiting import patient, until

from jitc.proxy.commands.questions import text
from jitc.proxy.commands.terminal.follow import Followed
from jitc.proxy.status.documents import mistakes
from jitc.proxy.status.report import Recovery

pytestmark = pytest.mark.timeout(150)


def step(ranks: list[RealClient], number: int) -> None:
    """The next step of both ranks, which have done it when this returns."""
    train(ranks, 1)
    check(ranks, number)


def lose(proxyd: Proxyd, client: RealClient, before: int) -> None:
    """Kills a rank's worker, and waits until its recovery has ended; its proof is pending then."""
    os.kill(worker_of(client), signal.SIGKILL)
    until(lambda: len(proxyd.recoveries()) > before, 30, "the recovery is over")


def documents(command: Command) -> list[dict[str, Any]]:
    """What a follower has printed as JSON, each of which has the form of a recovery."""
    found = [json.loads(one) for one in command.output.splitlines()]
    assert not [why for one in found for why in mistakes(one, Recovery)]
    return found


def states(command: Command) -> list[str]:
    return [one["proof"]["state"] for one in documents(command)]


def test_each_recovery_once_over_all_restarts(proxyd: Proxyd, commands: Commands) -> None:
    """One before the followers begin; one whose proof ends; one that is pending when the service is killed; one while
    there is no service."""
    service, ranks = proxyd.begin()
    at = ("report", "--follow", "--socket", proxyd.config.socket)
    step(ranks, 1)
    lose(proxyd, ranks[0], 0)
    step(ranks, 2)
    until(lambda: proxyd.recoveries()[0]["proof"]["state"] != "pending", 30, "its proof is over")
    lines, plain, shown = commands.piped(*at, "--json"), commands.piped(*at), commands.on_terminal(*at)
    lines.says("\n")
    for one in (plain, shown):
        one.says("1. job ")
    lose(proxyd, ranks[1], 1)
    step(ranks, 3)
    lines.says("\n", 2)
    lose(proxyd, ranks[0], 2)
    service.kill()
    service.wait()
    until(lambda: bool(plain.errors and lines.errors), 30, "they have noticed")
    os.kill(worker_of(ranks[1]), signal.SIGKILL)
    proxyd.ready(proxyd.start(PLAIN))
    step(ranks, 4)
    for one in (lines, plain, shown):
        one.says("worker-death", 4)
    known = proxyd.recoveries()
    close(ranks)
    shown.type(b"\x03")
    assert (lines.ended(signal.SIGTERM), plain.ended(signal.SIGINT), shown.ended()) == (143, 130, 130)
    assert documents(lines) == known and len(known) == 4
    assert states(lines)[:3] == ["nothing to compare", "nothing to compare", "not compared"]
    assert "another service has taken over" in documents(lines)[2]["proof"]["text"]
    assert plain.output == text.report({"recoveries": known, "validations": [], "divergences": [], "races": []}) + "\n"
    assert plain.errors.count("\n") == lines.errors.count("\n") == 1
    assert "\x1b" not in plain.output + lines.output and "\x1b[32mrecovered" in shown.output
    first = time.strftime("%H:%M:%S", time.localtime(known[0]["time"]))
    assert shown.output.startswith(f"{first}  1. job ") and "Traceback" not in shown.output


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_a_closed_pipe_ends_a_follower_in_silence(words: list[str], proxyd: Proxyd) -> None:
    """Nothing has to happen for it: what waits notices."""
    _, ranks = proxyd.begin()
    step(ranks, 1)
    lose(proxyd, ranks[0], 0)
    step(ranks, 2)
    at = ["report", "--follow", "--socket", proxyd.config.socket]
    with subprocess.Popen([*JITC, *at, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as one:
        assert one.stdout is not None and one.stderr is not None
        assert b"worker-death" in one.stdout.readline()
        one.stdout.close()
        assert one.wait(patient(30)) == 1
        assert one.stderr.read() == b""
    close(ranks)


# -- what was printed, without a service ---------------------------------------------------------


def made(number: int, state: str) -> dict[str, Any]:
    one = recovery(began=1000.0 * number)
    return one | {"proof": one["proof"] | {"state": state}}


def test_a_pending_proof_is_waited_for_and_holds_up_no_other() -> None:
    followed = Followed()
    first, second = made(1, "pending"), made(2, "proven")
    assert followed.take([first, second]) == [(2, second)] and followed.pending
    assert followed.take(copy.deepcopy([first, second])) == []
    done = made(1, "not proven")
    assert followed.take([done, second]) == [(1, done)] and not followed.pending
    assert followed.take([done, second]) == []


def test_one_that_the_service_forgets_is_printed_as_it_was_known() -> None:
    """A new service without the old one's keeper knows nothing; one that took over has the newest 100."""
    followed = Followed()
    first, second, third = made(1, "proven"), made(2, "pending"), made(3, "not compared")
    assert followed.take([first, second]) == [(1, first)]
    assert followed.take([]) == [(2, second)] and not followed.pending
    assert followed.take([third]) == [(3, third)]


def test_recoveries_of_an_older_service_have_no_proof() -> None:
    old = {name: value for name, value in made(1, "proven").items() if name not in ("proof", "began")}
    assert Followed().take([old]) == [(1, old)]
