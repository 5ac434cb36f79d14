"""jitc-proxyd and jitc as a user runs them: lines, exit codes, signals, JSON, nothing left behind."""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from standin_client import PROXYD, Client
from toolkit.documents import differences, example, refusals
from toolkit.waiting import readable

from jitc.proxy.commands import jitc as cli
from jitc.proxy.commands import proxyd
from jitc.proxy.commands.questions import text as cli_text
from jitc.proxy.commands.questions.trigger import parse_trigger
from jitc.proxy.common import rpc
from jitc.v1 import control_pb2


class Proxyd:
    """The command in a process of its own; also stands for a Service where only its socket is wanted."""

    def __init__(self, folder: Path, *options: str, **environ: str) -> None:
        self.socket = str(folder / "s")
        self.process = subprocess.Popen(
            [*PROXYD, "--gpus", "2", "--journal-limit", "16MiB", "--socket", self.socket, *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | environ, start_new_session=True,
        )  # fmt: skip

    @property
    def config(self) -> Proxyd:
        return self

    def ready(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def end(self) -> tuple[int, str]:
        _, errors = self.process.communicate(timeout=30)
        return self.process.returncode, errors


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Proxyd]:
    one = Proxyd(tmp_path)
    assert one.ready()
    yield one
    if one.process.poll() is None:
        one.process.kill()
    one.process.communicate()


def test_ready_line_and_clean_stop(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        notified.bind(str(tmp_path / "n"))
        notified.settimeout(30)
        one = Proxyd(tmp_path, NOTIFY_SOCKET=str(tmp_path / "n"))
        said = re.fullmatch(
            r"jitc-proxyd ready: 2 software GPUs, up to (.+) of host memory for copies, socket (.+)\n", one.ready()
        )
        assert said and re.fullmatch(r"[\d.]+ [MG]iB", said[1]) and said[2] == str(one.socket), said
        assert notified.recv(100) == b"READY=1"
        one.process.terminate()
        assert notified.recv(100) == b"STOPPING=1"
        assert one.end() == (0, "")
    assert [path.name for path in tmp_path.iterdir()] == ["n"]


def test_sigterm_drains(daemon: Proxyd) -> None:
    client = Client(daemon)  # type: ignore[arg-type]
    daemon.process.terminate()
    assert daemon.process.stderr is not None
    assert "1 session is still alive" in daemon.process.stderr.readline()
    with pytest.raises(grpc.RpcError) as caught:
        Client(daemon)  # type: ignore[arg-type]
    code, text = rpc.status_of(caught.value)
    assert code is grpc.StatusCode.FAILED_PRECONDITION
    assert "stopping" in text
    client.send("add", value=6)
    assert client.call("get")["value"] == 6
    client.close()
    assert daemon.end()[0] == 0
    assert not Path(daemon.socket).exists()


def test_second_signal_ends_at_once(daemon: Proxyd) -> None:
    client = Client(daemon)  # type: ignore[arg-type]
    daemon.process.terminate()
    assert daemon.process.stderr is not None
    assert "still alive" in daemon.process.stderr.readline()
    daemon.process.send_signal(signal.SIGINT)
    assert daemon.end()[0] == 0
    client.close_stream()
    client.link.close()


def test_killed_service_takes_its_workers_along(daemon: Proxyd) -> None:
    with rpc.channel(daemon.socket) as link:
        document = json.loads(rpc.admin(link).Status(control_pb2.StatusRequest(), timeout=10).json)
    workers = [os.pidfd_open(gpu["worker_pid"]) for gpu in document["gpus"]]
    daemon.process.kill()
    daemon.process.wait()
    for worker in workers:
        assert readable(worker, 20)
        os.close(worker)
    again = Proxyd(Path(daemon.socket).parent)
    assert again.ready().startswith("jitc-proxyd ready")
    again.process.terminate()
    assert again.end()[0] == 0


def test_second_service_on_a_socket(daemon: Proxyd) -> None:
    code, text = Proxyd(Path(daemon.socket).parent).end()
    assert code == 1
    assert f"already serves {daemon.socket}" in text
    assert len(text.splitlines()) == 1


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = cli.main(list(words))
    out, err = capsys.readouterr()
    return code, out, err


def test_status_report_inject(daemon: Proxyd, capsys: pytest.CaptureFixture[str]) -> None:
    at = ("--socket", daemon.socket)
    client = Client(daemon, rank=0, world_size=1)  # type: ignore[arg-type]
    client.send("add", value=6)
    assert client.call("get")["value"] == 6
    code, out, _ = run(capsys, "status", "--json", *at)
    assert code == 0
    assert json.loads(out)["gpus"][0]["sessions"][0]["ops_executed"] == 2
    assert differences(json.loads(out), example("jitc status --json")) == []
    assert refusals(json.loads(out), "status") == []
    assert Path(f"{daemon.socket}.d").stat().st_mtime - 60 < json.loads(out)["started"] < time.time()
    assert run(capsys, "report", *at)[:2] == (0, "no recoveries so far\n")
    code, out, _ = run(capsys, "inject", "kill-worker", "--gpu", "0", *at)
    assert code == 0
    assert "fired" in out
    assert client.call("get")["value"] == 6
    recoveries: list[dict[str, Any]] = []
    while not recoveries:
        report = json.loads(run(capsys, "report", "--json", *at)[1])
        recoveries = report["recoveries"]
    assert refusals(report, "report") == []
    assert differences(recoveries, example("jitc report --json")["recoveries"]) == []
    assert recoveries[0]["bytes_from_peers"] == {"nccl": 0, "host": 0}
    assert recoveries[0]["notes"] == []
    assert "worker-death" in run(capsys, "report", *at)[1]
    assert "1 recovery" in run(capsys, "status", *at)[1]
    client.close()


def test_a_report_tells_how_blocks_of_peers_came() -> None:
    recovery = {
        "job": "j", "gpu": 1, "cause": "worker-death", "outcome": "recovered", "decision": "roll-back", "boundary": 7,
        "bytes_restored": 4096, "bytes_from_peers": {"nccl": 0, "host": 2048}, "seconds": 0.5, "phases": {},
        "message": "", "notes": ["NCCL did not work"], "differences": {"results": 3, "largest": 2e-6, "bound": 0.01},
    }  # fmt: skip
    text = cli_text.report({"recoveries": [recovery], "validations": [], "divergences": [], "races": []})
    assert "4.0 KiB restored (2.0 KiB from peers by host), 0.500 s" in text
    numbers = "results that came out otherwise: 3, by up to 2e-06 of their size (0.01 is tolerated)"
    assert text.endswith(f"\n   {numbers}\n   NCCL did not work")


def test_a_report_tells_of_replicas_that_differ() -> None:
    block = {"rank": "rank 2 (pid 7)", "gpu": 1, "address": 4096, "bytes": 2048, "ordinal": 3}
    divergence = {"job": "j", "boundary": 9, "odd": ["rank 2 (pid 7)"], "blocks": [block], "outcome": "left as it is"}
    text = cli_text.report({"recoveries": [], "validations": [], "divergences": [divergence], "races": []})
    assert text.splitlines() == [
        "no recoveries so far",
        "job j: replicas stopped agreeing at boundary 9, odd: rank 2 (pid 7); left as it is",
        "   differs: 2.0 KiB at address 0x1000, ordinal 3, rank 2 (pid 7) on GPU 1",
    ]


def test_errors_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = str(tmp_path / "none")
    for words in (["status", "--socket", missing], ["report", "--socket", missing]):
        code, out, err = run(capsys, *words)
        assert (code, out) == (3, "")
        assert missing in err
        assert "jitc-proxyd --device software" in err
        assert len(err.splitlines()) == 1
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "dead"))
    code, _, err = run(capsys, "status", "--socket", str(tmp_path / "dead"))
    assert (code, len(err.splitlines())) == (3, 1)


def test_wrong_fault_is_told(daemon: Proxyd, capsys: pytest.CaptureFixture[str]) -> None:
    at = ("--socket", daemon.socket)
    assert run(capsys, "inject", "meteor", "--gpu", "0", *at)[0] == 2
    assert run(capsys, "inject", "kill-worker", "--gpu", "5", *at)[0] == 2
    code, _, err = run(capsys, "inject", "kill-worker", "--gpu", "0", "--at", "noon", *at)
    assert (code, "boundary=12" in err) == (2, True)


def options(parser: argparse.ArgumentParser) -> set[str]:
    """Of the command and its own commands, without what is hidden."""
    found = set()
    for action in parser._actions:
        if action.help is not argparse.SUPPRESS:
            found |= {one for one in action.option_strings if one.startswith("--")}
        if isinstance(action, argparse._SubParsersAction):
            found |= {one for below in action.choices.values() for one in options(below)}
    return found


def test_every_option_is_in_the_documentation_and_no_other() -> None:
    text = (Path(__file__).parents[4] / "docs" / "cli.md").read_text()
    known = options(cli.parser()) | options(proxyd.parser())
    named = set(re.findall(r"--[a-z]+(?:-[a-z]+)*", text))
    torchrun = {"--nnodes", "--rdzv-backend", "--rdzv-conf", "--rdzv-endpoint", "--rdzv-id"}
    assert known == named - {"--ulimit"} - torchrun, "that one is docker's"


def test_triggers() -> None:
    fault = parse_trigger("kill-worker", "boundary=0,phase=backward,skip=5")
    assert (fault.boundary, fault.armed_at_boundary, fault.phase, fault.skip) == (0, True, "backward", 5)
    assert parse_trigger("sticky-error", "op=1234").sequence == 1234
    assert parse_trigger("sticky-error", "after=100").operations == 100
    assert not parse_trigger("sticky-error", None).armed_at_boundary
