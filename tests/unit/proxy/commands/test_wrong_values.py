"""Nonsense on the commands' lines: one line that says what is allowed, exit status 2, and nothing is started."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from standin_client import PROXYD
from toolkit.waiting import stop_process

from jitc.ops.options.values import Size
from jitc.proxy import service
from jitc.proxy.commands import jitc as cli
from jitc.proxy.commands import proxyd
from jitc.proxy.commands.options import size
from jitc.proxy.commands.questions import ask as cli_ask
from jitc.proxy.common.config import Config
from jitc.proxy.keeper import privileges

BIN = Path(sys.executable).parent
LONG = "9" * 5000
#: What int() and float() take, and nobody means.
NUMBERS = [
    "",
    "-1",
    "-2",
    "+1",
    "1.5",
    "1e3",
    "nan",
    "inf",
    "1_0",
    " 1",
    "٣",
    "³",
    "0x10",
    "one",
    LONG,
    "99999999999",
    "1\n2",
]
SIZES = [
    "",
    "0",
    "1",
    "-1",
    "lots",
    "1e30",
    "1e12T",
    "nan",
    "inf",
    "٤GiB",
    "4 GiB",
    "4GB4",
    "G",
    "4XiB",
    LONG,
    "99999999T",
]
SECONDS = ["", "-1", "nan", "inf", "1e3", "٣", "0.001", "1e400", LONG, "99999999", "soon"]

PERCENTS = ["", "-1", "nan", "inf", "1e3", "٣", LONG, "51", "1%", "half"]

SERVICE = {
    "--device": ["", "abacus", "cuda "],
    "--gpus": [*NUMBERS, "0", "65"],
    "--workers-per-gpu": [*NUMBERS, "0", "65", "2"],
    "--threads": [*NUMBERS, "0", "-5", "100000"],
    "--spares": [*NUMBERS, "65"],
    "--shuffle": ["", "-1", "1.5", "seven", "9223372036854775808"],
    "--validate-every": [*NUMBERS[:-2], "2147483648"],
    "--validate-budget": PERCENTS,
    "--reserve-budget": PERCENTS,
    "--boundary-budget": PERCENTS,
    "--overhead": [*PERCENTS, "0", "0.05"],
    "--memory-limit": [*SIZES, "31MiB", "3TiB"],
    "--journal-limit": [*SIZES, "15MiB", "2TiB"],
    "--copies-limit": [*SIZES, "63MiB", "2TiB"],
    "--spill-limit": [*(one for one in SIZES if one != "0"), "15MiB", "2TiB"],
    "--images-limit": [*SIZES, "1MiB", "2TiB"],
    "--pinned-limit": [*(one for one in SIZES if one != "0"), "64K", "65GiB"],
    "--hang-seconds": SECONDS,
    "--spill-dir": ["", "/nonexistent", "/etc/passwd", "/proc", "\udcff"],
    **{f"--{name}": ["", "/nonexistent", "/etc", "/etc/passwd"] for name in ("driver", "nccl", "cublas", "cublaslt",
                                                                             "nvrtc", "cudnn")},
}  # fmt: skip
ADDRESSES = ["7431", "10.0.0.1", "10.0.0.1:", ":7431", "10.0.0.1:65536", "10.0.0.1:port", "unix:/tmp/s", "fd00::1:7431",
             "a b:1", "[fd00::1]", "10.0.0.1:7431,10.0.0.2:7431", "\u0661.0.0.1:7431", "10.0.0.1:7431\n"]  # fmt: skip
MEMBER = ["--cluster", "etcd://h:2379", "--peer-address", "10.0.0.1:7431"]
CLUSTER = {
    "--cluster": ["etcd", "etcd://", "zookeeper://h:1", "etcd://h", "etcd://h:0x1", "http://h:2379", "etcd://h:2379,",
                  "etcd://user@h:2379"],
    "--node": ["-n", "n.", ".n", "a b", "n/1", "n" * 64, "\u00e9", "n\n", "n..1"],
    "--peer-address": ADDRESSES,
    "--bridge-address": ADDRESSES,
    "--peer-certificates": ["/nonexistent", "/etc/passwd"],
    **{f"--cluster-{name}": ["/nonexistent", "/etc"] for name in ("ca", "cert", "key")},
    "--cluster-user": ["a\nb", "u" * 300],
}  # fmt: skip
SOCKETS = ["", "/", "/tmp/", "/" + "x" * 90, "/tmp/a\nb", "/tmp/\udcff"]
TRIGGERS = [
    "", "noon", "op", "op=", "op=0", "after=0", "op=-1", "op=1.5", "op=٣", f"op={LONG}", "op=9223372036854775808",
    "skip=5", "skip=0", "op=5,skip=0", "op=1,after=2", "op=1,op=2", "op=1,phase=copy", "after=3,boundary=1",
    "phase=", "phase=lunch", "phase=copy,phase=copy", "boundary=1,,phase=copy", "boundary=1 ,phase=copy",
    "boundary=", "Op=1", "boundary=-1", "phase=copy,skip=x", "phase=copy\nskip=1",
]  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_starts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Config]]:
    """A service that would be started with these values, and no more."""
    accepted: list[Config] = []

    def started(config: Config, **_: object) -> None:
        accepted.append(config)
        raise OSError("accepted")

    monkeypatch.setattr(service, "Service", started)
    monkeypatch.delenv("JITC_SOCKET", raising=False)
    handlers = {number: signal.getsignal(number) for number in (*cli_run_signals(), signal.SIGTERM)}
    yield accepted
    for number, handler in handlers.items():
        signal.signal(number, handler)


def cli_run_signals() -> tuple[signal.Signals, ...]:
    from jitc.proxy.commands.run import FORWARDED

    return FORWARDED


def outcome(capsys: pytest.CaptureFixture[str], main: Any, words: list[str]) -> tuple[int, str]:
    """The exit status and the one line."""
    try:
        code = main(words)
    except SystemExit as end:
        code = end.code
    out, err = capsys.readouterr()
    assert not out
    lines = err.splitlines()
    assert len(lines) == 1, err
    assert len(lines[0]) < 1000
    assert lines[0].isprintable()
    assert isinstance(code, int)
    return code, lines[0]


@pytest.mark.parametrize(("option", "values"), SERVICE.items(), ids=SERVICE)
def test_options_of_a_service(option: str, values: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Of jitc-proxyd, and of jitc run, which says so before it starts one."""
    for value in values:
        for main, words in ((proxyd.main, []), (cli.main, ["run"])):
            rest = ["--", "true"] if words else []
            code, line = outcome(capsys, main, [*words, option, value, *rest])
            assert (code, option in line) == (2, True), (value, line)


@pytest.mark.parametrize(("option", "values"), CLUSTER.items(), ids=CLUSTER)
def test_options_of_a_cluster(
    option: str, values: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for value in values:
        code, line = outcome(capsys, proxyd.main, [f"{option}={value}"])
        assert (code, option in line) == (2, True), (value, line)
    variable = f"JITC_{option[2:].replace('-', '_').upper()}"
    monkeypatch.setenv(variable, values[0])
    code, line = outcome(capsys, proxyd.main, [])
    assert (code, variable in line) == (2, True), line


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--node", "n1"], "--node goes with --cluster"),
        (["--peer-address", "10.0.0.1:7431"], "--peer-address goes with --cluster"),
        (["--cluster-user", "jitc"], "--cluster-user goes with --cluster"),
        (["--cluster", "etcd://h:2379"], "--cluster needs --peer-address"),
        ([*MEMBER, "--users", "0"], "--cluster does not go with --users"),
        ([*MEMBER, "--cluster-cert", "/etc/passwd"], "key"),
        ([*MEMBER, "--cluster-user", "jitc"], "(JITC_CLUSTER_PASSWORD)"),
        (["--cluster", "etcd://h:2379", "--peer-address", "10.0.0.1:65535"], "give --bridge-address, too"),
    ],
)
def test_options_of_a_cluster_that_do_not_go_together(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(privileges, "lacking", list)
    monkeypatch.delenv("JITC_CLUSTER_PASSWORD", raising=False)
    code, line = outcome(capsys, proxyd.main, words)
    assert (code, says in line) == (2, True), line


def test_a_machine_whose_name_cannot_be_a_node_s(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, nothing_starts: list[Config]
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "my machine")
    assert "give one with --node" in outcome(capsys, proxyd.main, MEMBER)[1] and not nothing_starts
    assert proxyd.main([*MEMBER, "--node", "n1"]) == 1
    (config,) = nothing_starts
    assert config.cluster is not None
    assert (config.cluster.node, config.cluster.bridge_address) == ("n1", "10.0.0.1:7432")


@pytest.mark.parametrize(
    "words", [["--gpu", "2"], ["--gpus"], ["--gpus", "1", "2"], ["status"], ["--at", "op=1"], ["-x"]]
)
def test_options_that_are_none(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(capsys, proxyd.main, words)[0] == 2


def test_options_that_do_not_go_together(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--device", "cuda", "--gpus", "8", "--workers-per-gpu", "16"]
    assert "at most 64" in outcome(capsys, proxyd.main, words)[1]
    words = ["--device", "cuda", "--shuffle", "1"]
    assert "--shuffle goes with --device software" in outcome(capsys, proxyd.main, words)[1]
    for main, words in ((proxyd.main, []), (cli.main, ["run"])):
        rest = ["--", "true"] if words else []
        code, line = outcome(capsys, main, [*words, "--driver", str(cli.paths.preload_library()), *rest])
        assert (code, "--driver goes with --device cuda" in line) == (2, True), line


def test_what_is_just_allowed(nothing_starts: list[Config], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    least = (
        "--threads 1 --gpus 1 --spares 0 --validate-every 0 --memory-limit 32MiB --journal-limit 16M --pinned-limit 0 "
    )
    least += "--copies-limit 67108864 --images-limit 256MiB --hang-seconds 0 --shuffle 0"
    most = "--threads 512 --gpus 64 --spares 64 --validate-every 2147483647 --memory-limit 2TiB --journal-limit 1tib "
    most += "--pinned-limit 64G --copies-limit 1024GB --images-limit 1T --hang-seconds 1000000 "
    most += "--shuffle 9223372036854775807"
    for words in (least, most):
        code = proxyd.main([*words.split(), "--spill-dir", str(tmp_path), "--socket", str(tmp_path / "s")])
        assert (code, capsys.readouterr().err) == (1, "jitc-proxyd: accepted\n")
    low, high = nothing_starts
    assert (low.memory_limit, low.journal_bytes, low.pinned_bytes, low.hang_seconds) == (32 << 20, 16 << 20, 0, 0.0)
    assert (high.memory_limit, high.snapshot_bytes, high.pinned_bytes) == (2 << 40, 1 << 40, 64 << 30)
    assert (low.shuffle, high.shuffle) == (0, (1 << 63) - 1)
    assert low.spill_dir == str(tmp_path)


def test_sizes() -> None:
    parse = size(Size(1, 1 << 40))
    texts = ("4GiB", "512M", "1k", "10", "1.5G", "7B", "3Ki", "2mb")
    assert [parse(text) for text in texts] == [4 << 30, 512 << 20, 1024, 10, 3 << 29, 7, 3 << 10, 2 << 20]


PEOPLE = [
    " ",
    ",",
    "root,",
    "@",
    "@@x",
    "no-such-user",
    "@no-such-group",
    "root,root",
    "-1",
    "1e3",
    "4294967295",
    LONG,
]


@pytest.mark.parametrize("option", ["--users", "--admins"])
@pytest.mark.parametrize("people", PEOPLE)
def test_users_that_are_none(
    option: str, people: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, line = outcome(capsys, proxyd.main, [f"{option}={people}"])
    assert (code, option in line) == (2, True), line
    monkeypatch.setenv(f"JITC_{option[2:].upper()}", people)
    code, line = outcome(capsys, proxyd.main, [])
    assert (code, f"JITC_{option[2:].upper()}" in line) == (2, True), line


def test_several_users_need_more(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the service's process, and of the socket's path."""
    assert "--admins goes with --users" in outcome(capsys, proxyd.main, ["--admins", "0"])[1]
    monkeypatch.setattr(os, "geteuid", lambda: 1001)
    assert "--users needs root" in outcome(capsys, proxyd.main, ["--users", "0"])[1]
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    words = ["--users", "0", "--socket", f"/tmp/{'s' * 70}"]
    assert "--users leaves the socket's path 73 bytes" in outcome(capsys, proxyd.main, words)[1]
    monkeypatch.setattr(privileges, "lacking", lambda: ["CAP_CHOWN", "CAP_KILL"])
    code, line = outcome(capsys, proxyd.main, ["--users", "0"])
    assert (code, "--users needs CAP_CHOWN, CAP_KILL, which this process lacks" in line) == (2, True), line


# -- sockets ------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", SOCKETS)
def test_sockets_that_are_none(path: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    commands = [[], ["status"], ["report"], ["inject", "xid", "--gpu", "0"], ["validate", "--gpu", "0"]]
    for words in commands:
        main = cli.main if words else proxyd.main
        code, line = outcome(capsys, main, [*words, "--socket", path])
        assert (code, "--socket" in line) == (2, True), line
    if not path:
        return  # unset
    monkeypatch.setenv("JITC_SOCKET", path)
    for words in commands:
        code, line = outcome(capsys, cli.main if words else proxyd.main, words)
        assert (code, "JITC_SOCKET" in line) == (2, True), line


@pytest.mark.parametrize("words", [["status"], ["report"], ["inject", "xid", "--gpu", "0"], ["validate", "--gpu", "0"]])
def test_what_is_no_socket(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path):
        code, line = outcome(capsys, cli.main, [*words, "--socket", str(path)])
        assert (code, f"{path} is no socket" in line) == (2, True), line
    code, line = outcome(capsys, cli.main, [*words, "--socket", str(tmp_path / "file" / "s")])
    assert (code, "no jitc-proxyd has made it" in line) == (3, True), line


def test_a_service_cannot_have_any_socket(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # the service itself refuses these
    (tmp_path / "file").touch()
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    for path, words in (
        (tmp_path / "file", "is no socket"),
        (tmp_path / "file" / "s", "is no folder"),
        (tmp_path / "open" / "s", "others can write to"),
        (Path("/proc/none/s"), "cannot use /proc/none"),
        (Path("/proc/s"), "cannot use /proc/s.d"),
    ):
        code, line = outcome(capsys, proxyd.main, ["--socket", str(path)])
        assert (code, words in line) == (2, True), line
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "open"]
    assert not list((tmp_path / "open").iterdir())


# -- what listens there -------------------------------------------------------------------------

ASKING = [["status"], ["report", "--json"], ["inject", "xid", "--gpu", "0", "--wait"], ["validate", "--gpu", "0"]]


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(tmp_path / "s"))
        one.listen(4)
        yield one


@pytest.mark.parametrize("words", ASKING, ids=lambda words: words[0])
def test_a_listener_that_is_silent(
    words: list[str], listener: socket.socket, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli_ask, "HELLO_SECONDS", 0.1)
    monkeypatch.setenv("JITC_SERVICE_TIMEOUT", "0")
    path = listener.getsockname()
    code, line = outcome(capsys, cli.main, [*words, "--socket", path])
    assert (code, line.startswith(f"jitc: {path} accepts connections but does not answer: is it a")) == (3, True), line


@pytest.mark.parametrize("words", ASKING, ids=lambda words: words[0])
def test_a_listener_that_may_be_a_service_that_begins(
    words: list[str], listener: socket.socket, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wait for it is announced, and ends; where a service has begun already, there is none."""
    monkeypatch.setattr(cli_ask, "HELLO_SECONDS", 0.1)
    monkeypatch.setenv("JITC_SERVICE_TIMEOUT", "1")
    path = listener.getsockname()
    assert cli.main([*words, "--socket", path]) == 3
    waits, silent = capsys.readouterr().err.splitlines()
    assert waits.startswith(f"jitc: the service at {path} does not answer") and "up to 1 s (JITC_SERVICE_TIM" in waits
    Path(f"{path}.d").mkdir()
    assert outcome(capsys, cli.main, [*words, "--socket", path]) == (3, silent)


def test_a_listener_that_takes_no_more(
    listener: socket.socket, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli_ask, "HELLO_SECONDS", 0.1)
    monkeypatch.setenv("JITC_SERVICE_TIMEOUT", "0")
    path = listener.getsockname()
    waiting = []
    with pytest.raises(BlockingIOError):
        while True:
            waiting.append(socket.socket(socket.AF_UNIX))
            waiting[-1].setblocking(False)
            waiting[-1].connect(path)
    code, line = outcome(capsys, cli.main, ["status", "--socket", path])
    assert (code, "does not answer" in line) == (3, True), line
    for one in waiting:
        one.close()


@pytest.mark.parametrize("reads", [True, False])
@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"220 "])
def test_a_listener_that_speaks_otherwise(
    answer: bytes, reads: bool, listener: socket.socket, capsys: pytest.CaptureFixture[str]
) -> None:
    """reads: what it is asked, before it closes the connection; else that may be closed before we have asked."""

    def serve() -> None:
        link, _ = listener.accept()
        link.sendall(answer)
        if reads:
            link.recv(1)
        link.close()

    thread = threading.Thread(target=serve)
    thread.start()
    code, line = outcome(capsys, cli.main, ["status", "--socket", listener.getsockname()])
    thread.join(20)
    assert (code, "the socket of something else" in line) == (3, True), line
    assert ("no place left" in line) == (not answer), line


@pytest.mark.parametrize("words", ASKING, ids=lambda words: words[0])
def test_a_server_of_another_kind(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server = grpc.server(ThreadPoolExecutor(1))
    server.add_insecure_port(f"unix:{tmp_path}/s")
    server.start()
    code, line = outcome(capsys, cli.main, [*words, "--socket", str(tmp_path / "s")])
    server.stop(0).wait()
    assert (code, "the socket of something else" in line) == (3, True), line


def test_a_service_that_is_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli_ask, "HELLO_SECONDS", 0.1)
    daemon = [*PROXYD, "--socket", str(tmp_path / "s")]
    with subprocess.Popen(daemon, stdout=subprocess.PIPE, start_new_session=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith(b"jitc-proxyd ready")
            stop_process(process.pid)
            code, line = outcome(capsys, cli.main, ["status", "--socket", str(tmp_path / "s")])
        finally:
            process.send_signal(signal.SIGCONT)
            process.terminate()
    assert (code, "accepts connections but does not answer" in line) == (3, True), line


# -- the other commands -------------------------------------------------------------------------


@pytest.mark.parametrize("command", [["inject", "xid"], ["validate"]])
def test_gpus(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for value in [*NUMBERS, "64"]:
        code, line = outcome(capsys, cli.main, [*command, "--gpu", value])
        assert (code, "from 0 to 63" in line) == (2, True), line


def test_timeouts(capsys: pytest.CaptureFixture[str]) -> None:
    for value in SECONDS:
        code, line = outcome(capsys, cli.main, ["validate", "--gpu", "0", "--timeout", value])
        assert (code, "--timeout" in line) == (2, True), line


@pytest.mark.parametrize("at", TRIGGERS)
def test_places_that_are_none(at: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, line = outcome(capsys, cli.main, ["inject", "kill-worker", "--gpu", "0", "--at", at])
    assert (code, line.startswith("jitc: --at: ")) == (2, True), line


@pytest.mark.parametrize(
    "words",
    [
        [""], ["fly"], ["statu"], ["status", "now"], ["status", "--js"], ["inject"], ["inject", "--gpu", "0"],
        ["inject", "meteor", "--gpu", "0"], ["inject", "", "--gpu", "0"], ["inject", "xid"], ["validate"],
        ["inject", "kill-worker", "stop-worker", "--gpu", "0"], ["report", "--json=1"], ["version", "--all"],
        ["preload-path", "x"], ["run"], ["run", "--"], ["run", "--", ""], ["run", "--", "/nonexistent/program"],
        ["run", "--", "/etc/passwd"], ["run", "--", "/tmp"], ["run", "--", "no\nsuch"],
        ["run", "--socket", "/tmp/s", "--", "true"],
        *(["demo", "--steps", one] for one in (*NUMBERS, "2", "10001")), ["demo", "--steps"], ["demo", "more"],
        ["demo", "--json", ""], ["demo", "--json", "/nonexistent/file"], ["demo", "--json", "/tmp"],
    ],
)  # fmt: skip
def test_commands_that_are_none(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(capsys, cli.main, words)[0] == 2


def test_a_folder_for_temporary_files_that_is_too_deep(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("x" * 80)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    code, line = outcome(capsys, cli.main, ["run", "--", "true"])
    assert (code, "TMPDIR" in line) == (2, True), line
    assert not list(deep.iterdir())


def test_output_that_cannot_be_written() -> None:
    jitc = str(BIN / "jitc")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [jitc, "version"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    assert (done.returncode, done.stderr) == (1, "jitc: [Errno 28] No space left on device\n")
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        done = subprocess.run(
            [jitc, "version"], stdout=closed, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize(
    "words",
    [
        ["jitc-proxyd", "--gpus", "-1"], ["jitc-proxyd", "--spill-dir", "/nonexistent"],
        ["jitc", "inject", "kill-worker", "--gpu", "99999999999"],
        ["jitc", "inject", "kill-worker", "--gpu", "0", "--at", "skip=5"],
        ["jitc", "run", "--journal-limit", "1", "--", "true"], ["jitc", "status", "--socket", "/etc/passwd"],
    ],
)  # fmt: skip
def test_the_commands_themselves(words: list[str]) -> None:
    done = subprocess.run([str(BIN / words[0]), *words[1:]], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1), done.stderr
