"""`jitc support-bundle`: what is in the archive and what is not, with any state of the service; how it is written."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from standin_client import PROXYD, Client
from toolkit.documents import refusals
from toolkit.waiting import stop_process

from jitc.proxy.commands import jitc
from jitc.proxy.commands.questions import ask
from jitc.proxy.commands.support import collect, logs, machine, part, processes
from jitc.proxy.status.documents import mistakes
from jitc.proxy.status.support import Contents, SupportBundle

PROGRAM = [sys.executable, "-m", "jitc.proxy.commands.jitc", "support-bundle"]
TESTS = Path(__file__).parents[4]
SECRET, ARGUMENT = "an-environment-is-private", "an-argument-is-private"
#: What each archive has, beside the processes of a service.
BEFORE = (
    "status.json", "report.json", "doctor.json", "version.json", "environment.txt", "packages.txt", "machine.txt",
    "processes.txt",
)  # fmt: skip
AFTER = ("logs/journal.txt", "logs/journal-user.txt", "logs/standard-error.txt", "contents.json")
REAL_DOCTOR = collect._DOCTOR
DOCTOR = [sys.executable, "-c", "print('{\"healthy\": true}')"]


@dataclass
class Ran:
    """One run of the command."""

    code: int
    out: str
    err: str
    files: dict[str, str]


@dataclass
class Daemon:
    """A service with stand-in workers, whose log is a file."""

    folder: Path
    process: subprocess.Popen[str]

    @property
    def socket(self) -> str:
        return str(self.folder / "s")

    @property
    def config(self) -> Daemon:
        return self


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    folder = tmp_path_factory.mktemp("service")
    words = [*PROXYD, "--gpus", "1", "--spares", "0", "--journal-limit", "16MiB", "--socket", str(folder / "s")]
    with (folder / "log").open("a") as log:
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True,
            env=os.environ | {"A_SECRET": SECRET},
        )  # fmt: skip
    with process:
        try:
            assert process.stdout is not None and process.stdout.readline().startswith("jitc-proxyd ready")
            yield Daemon(folder, process)
        finally:
            process.send_signal(signal.SIGCONT)
            process.terminate()
    assert process.returncode == 0


@pytest.fixture(autouse=True)
def usual(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder of its own, a quick doctor, an environment with a secret and with a variable of ours, no systemd."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(collect, "_DOCTOR", DOCTOR)
    monkeypatch.setattr(ask, "HELLO_SECONDS", 0.2)
    monkeypatch.setattr(logs, "SYSTEMD", tmp_path / "none")
    for name in [one for one in os.environ if one.startswith("JITC_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("A_SECRET", SECRET)
    monkeypatch.setenv("JITC_CACHE", "/a/cache\n")


def opened(data: bytes) -> dict[str, str]:
    """The files of an archive, in its order, by their names in its folder."""
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        found = {}
        for one in archive.getmembers():
            file = archive.extractfile(one)
            assert file is not None and one.mode == 0o600 and re.match(r"jitc-support-[\w.-]+-\d{8}-\d{6}/", one.name)
            found[one.name.partition("/")[2]] = file.read().decode()
    return found


def bundle(capfd: pytest.CaptureFixture[str], *words: str) -> Ran:
    try:
        code = jitc.main(["support-bundle", *words])
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    out, err = capfd.readouterr()
    path = Path(out.strip()) if code == 0 and "--json" not in words else None
    return Ran(code, out, err, opened(path.read_bytes()) if path else {})


def reason(text: str) -> str:
    return str(json.loads(text)["missing"])


# ---- what is in it ------------------------------------------------------------------------------
def test_a_service_that_answers(daemon: Daemon, capfd: pytest.CaptureFixture[str]) -> None:
    with (daemon.folder / "log").open("a") as log:
        log.write("jitc-proxyd: a line of the log\n")
    found = bundle(capfd, "--socket", daemon.socket)
    own = [name for name in found.files if name.startswith("processes/")]
    assert tuple(found.files) == (*BEFORE, *own, *AFTER)
    assert [re.sub(r"\d+", "N", one) for one in own] == [
        f"processes/{role}-N.txt" for role in ("service", "keeper", "worker")
    ]
    worker = json.loads(found.files["status.json"])["gpus"][0]["worker_pid"]
    assert f"processes/service-{daemon.process.pid}.txt" in own and f"processes/worker-{worker}.txt" in own
    assert json.loads(found.files["report.json"])["recoveries"] == []
    assert json.loads(found.files["doctor.json"]) == {"healthy": True}
    assert json.loads(found.files["version.json"])["python"] == ".".join(map(str, sys.version_info[:3]))
    assert found.files["environment.txt"] == "JITC_CACHE=/a/cache\\n\n"
    assert re.search(r"^grpcio \d", found.files["packages.txt"], re.MULTILINE)
    assert "MemTotal" in found.files["machine.txt"] and "glibc" in found.files["machine.txt"]
    assert re.search(rf"^service +{daemon.process.pid} ", found.files["processes.txt"], re.MULTILINE)
    assert found.files["processes.txt"].endswith("\nnone\n")
    described = found.files[f"processes/service-{daemon.process.pid}.txt"]
    assert "State:" in described and "Max open files" in described and "== threads" in described
    assert found.files["logs/standard-error.txt"].endswith("jitc-proxyd: a line of the log\n")


def test_the_path_is_all_of_standard_output(daemon: Daemon, capfd: pytest.CaptureFixture[str]) -> None:
    found = bundle(capfd, "--socket", daemon.socket)
    path = Path(found.out.removesuffix("\n"))
    assert path.parent == Path.cwd() and [one.name for one in path.parent.iterdir()] == [path.name]
    assert re.fullmatch(r"jitc-support-[\w.-]+-\d{8}-\d{6}\.tar\.gz", path.name)
    assert path.stat().st_mode & 0o777 == 0o600
    lines = found.err.splitlines()
    assert [one.strip().split(":")[0] for one in lines[1:-1]] == [one for one in found.files if one != "contents.json"]
    assert lines[-1].startswith("left out: arguments of programs (--with-arguments adds them), environment variables")
    again = bundle(capfd, "--socket", daemon.socket, "--output", "second.tar.gz")
    assert list(again.files) == list(found.files)


def test_the_table_of_contents_is_true(daemon: Daemon, capfd: pytest.CaptureFixture[str]) -> None:
    found = bundle(capfd, "--socket", daemon.socket)
    document = json.loads(found.files["contents.json"])
    assert list(mistakes(document, Contents)) == []
    assert [one["name"] for one in document["files"]] == [one for one in found.files if one != "contents.json"]
    for one in document["files"]:
        data = found.files[one["name"]].encode()
        assert (one["bytes"], one["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
    missing = {one["name"] for one in document["files"] if one["missing"]}
    assert missing == {"logs/journal.txt", "logs/journal-user.txt"}


def test_the_document(daemon: Daemon, capfd: pytest.CaptureFixture[str]) -> None:
    found = bundle(capfd, "--socket", daemon.socket, "--json", "--output", "b.tar.gz")
    document = json.loads(found.out)
    assert list(mistakes(document, SupportBundle)) == [] and refusals(document, "support-bundle") == []
    data = Path("b.tar.gz").read_bytes()
    assert (document["path"], document["bytes"]) == (str(Path("b.tar.gz").resolve()), len(data))
    assert [(one["name"], one["bytes"]) for one in document["files"]] == [
        (name, len(text.encode())) for name, text in opened(data).items()
    ]


def test_no_service(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    found = bundle(capfd, "--socket", str(tmp_path / "none"))
    assert found.code == 0 and tuple(found.files) == (*BEFORE, *AFTER)
    for name in ("status.json", "report.json"):
        assert reason(found.files[name]).startswith(f"no service on {tmp_path}/none (no jitc-proxyd has made it)")
    assert found.files["processes.txt"].startswith("this user has no process of this service here")
    assert "no process of the service was found; a service writes its log" in found.files["logs/standard-error.txt"]


def test_no_socket_at_all(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("JITC_SOCKET", "/x" * 60)
    found = bundle(capfd)
    assert found.code == 0 and "longer than 85 bytes" in reason(found.files["status.json"])


def test_a_service_that_is_stopped(daemon: Daemon, capfd: pytest.CaptureFixture[str]) -> None:
    stop_process(daemon.process.pid)
    try:
        found = bundle(capfd, "--socket", daemon.socket)
    finally:
        daemon.process.send_signal(signal.SIGCONT)
    assert found.code == 0
    for name in ("status.json", "report.json"):
        assert "accepts connections but does not answer" in reason(found.files[name])
    table = found.files["processes.txt"]
    assert re.search(rf"^service +{daemon.process.pid} +\S+ +T ", table, re.MULTILINE)
    assert re.search(r"^keeper ", table, re.MULTILINE) and re.search(r"^worker ", table, re.MULTILINE)
    assert "does not answer" in table.splitlines()[-1]
    assert "State:\tT (stopped)" in found.files[f"processes/service-{daemon.process.pid}.txt"]


def test_a_socket_of_another_program(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen(4)
        found = bundle(capfd, "--socket", str(tmp_path / "s"))
    assert tuple(found.files) == (*BEFORE, *AFTER)


# ---- what is not in it --------------------------------------------------------------------------
@pytest.fixture
def program(daemon: Daemon) -> Iterator[tuple[int, str]]:
    """A process that the keeper knows, with a secret in its arguments and in its environment: its number and ticket."""
    code = (
        f"import sys; sys.path.insert(0, {str(TESTS)!r}); from toolkit.program import Program; "
        "one = Program(sys.argv[1]); print(one.ticket, flush=True); sys.stdin.read()"
    )
    words = [sys.executable, "-c", code, daemon.socket, ARGUMENT]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as one:
        assert one.stdout is not None
        yield one.pid, one.stdout.readline().strip()


def test_secrets(
    daemon: Daemon, program: tuple[int, str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pid, ticket = program
    monkeypatch.setattr(collect, "_DOCTOR", REAL_DOCTOR)
    client = Client(daemon, program=ticket, pid=pid)  # type: ignore[arg-type]
    client.send("add", value=6)
    assert client.call("get")["value"] == 6
    try:
        plain = bundle(capfd, "--socket", daemon.socket, "--output", "plain.tar.gz")
        asked = bundle(capfd, "--socket", daemon.socket, "--output", "asked.tar.gz", "--with-arguments")
    finally:
        client.close()
    assert re.search(rf"^{pid}  python\S*$", plain.files["processes.txt"], re.MULTILINE)
    for found in (plain, asked):
        assert not [name for name, text in found.files.items() if SECRET in text] and SECRET not in found.err
    assert not [name for name, text in plain.files.items() if ARGUMENT in text] and ARGUMENT not in plain.err
    assert [name for name, text in asked.files.items() if ARGUMENT in text] == ["processes.txt"]
    assert re.search(rf"^{daemon.process.pid}  .*--journal-limit 16MiB", asked.files["processes.txt"], re.MULTILINE)
    assert "arguments" not in asked.err.splitlines()[-1]


def test_a_log_to_which_programs_write_too(daemon: Daemon, capfd: pytest.CaptureFixture[str]) -> None:
    with (daemon.folder / "log").open("a") as log:
        words = [sys.executable, "-c", "import sys; sys.stdin.read()"]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=log) as other:
            found = bundle(capfd, "--socket", daemon.socket)
    text = found.files["logs/standard-error.txt"]
    assert f"process {other.pid} also writes to {daemon.folder}/log, so it may have output of programs" in text


def test_only_the_end_of_a_log(
    daemon: Daemon, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with (daemon.folder / "log").open("a") as log:
        log.write(f"{'first' * 100}\nlast\n")
    monkeypatch.setattr(logs, "LOG_BYTES", 20)
    found = bundle(capfd, "--socket", daemon.socket)
    assert found.files["logs/standard-error.txt"] == "firstfirstfirst\nlast\n"[-20:]
    assert "logs/standard-error.txt: 20 bytes; missing: only its last 20 of " in found.err


def test_nvidia_smi_names_no_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = f"| Driver Version: 999.1 |\n+----+\n| Processes: |\n| 0  C  python --token {ARGUMENT} |\n"
    fake(tmp_path, monkeypatch, "nvidia-smi", f"cat <<'END'\n{said}END")
    text = machine.text()
    assert "Driver Version: 999.1" in text and ARGUMENT not in text and "Processes" not in text


# ---- parts that fail ----------------------------------------------------------------------------
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, script: str) -> None:
    """A command of that name which is found first."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo only text", "jitc doctor has printed no document, exit status 0: no message"),
        ("echo of no use >&2; exit 2", "jitc doctor has printed no document, exit status 2: of no use"),
    ],
)
def test_a_doctor_that_fails(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, script: str, why: str
) -> None:
    monkeypatch.setattr(collect, "_DOCTOR", ["/bin/sh", "-c", script])
    found = bundle(capfd, "--socket", str(tmp_path / "none"))
    assert found.code == 0 and reason(found.files["doctor.json"]) == why


def test_a_doctor_that_finds_something(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect, "_DOCTOR", ["/bin/sh", "-c", "echo '{\"healthy\": false}'; exit 1"])
    found = bundle(capfd, "--socket", str(tmp_path / "none"))
    assert json.loads(found.files["doctor.json"]) == {"healthy": False}


def test_a_command_that_takes_too_long_ends_with_its_children(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "alive")
    reader = os.open(tmp_path / "alive", os.O_RDONLY | os.O_NONBLOCK)
    script = f"(exec sleep 600 3>{tmp_path}/alive) & exec sleep 600 3>{tmp_path}/alive"
    with pytest.raises(part.Missing, match=r"^sh has not ended within 0\.5 s$"):
        part.output_of(["/bin/sh", "-c", script], 0.5)
    assert os.read(reader, 1) == b""  # no process has the other end any more
    os.close(reader)


def test_a_defect_costs_one_part(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> str:
        raise KeyError("a\nname")

    monkeypatch.setattr(machine, "text", broken)
    found = bundle(capfd, "--socket", str(tmp_path / "none"))
    assert found.code == 0 and tuple(found.files) == (*BEFORE, *AFTER)
    assert found.files["machine.txt"] == "not collected: KeyError: 'a\\nname'\n"


def test_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "SYSTEMD", tmp_path)
    fake(tmp_path, monkeypatch, "journalctl", '[ "$1" = --user ] || echo "asked for $*"')
    system, user, _ = logs.parts([], set())
    assert system.data == b"asked for -u jitc-proxyd -n 2000 --no-pager --quiet -o short-iso\n"
    assert user.missing == "the journal has nothing of a unit jitc-proxyd that this user may read"


def test_a_long_report_loses_its_oldest_entries() -> None:
    document = {"recoveries": [{"text": "x" * 1000, "at": at} for at in range(100)], "races": [{"at": 0}]}
    found = collect.shortened(document, 30_000)
    left = json.loads(found.text)
    assert [one["at"] for one in left["recoveries"]] == list(range(75, 100)) and left["races"] == [{"at": 0}]
    assert found.missing.endswith("so its oldest entries were left out: 75 of recoveries")


def test_a_process_that_has_ended_meanwhile(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    [service] = [one for one in processes.of_socket(daemon.socket) if one.role == processes.SERVICE]
    assert "== limits ==" in processes.facts(service)
    monkeypatch.setattr(processes, "_now", lambda pid: service.stat.started + 1)
    with pytest.raises(part.Missing, match="has ended meanwhile"):
        processes.facts(service)


# ---- how it is written --------------------------------------------------------------------------
def only_complaint(found: Ran) -> str:
    """The line after those about the parts."""
    assert found.out == ""
    [line] = [one for one in found.err.splitlines() if one.startswith("jitc: ") and "collects the parts" not in one]
    return line


def test_a_file_that_is_there(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_790_000_000.5)
    none = ("--socket", str(tmp_path / "none"))
    first = Path(bundle(capfd, *none).out.strip())
    before = first.read_bytes()
    refused = bundle(capfd, *none)
    assert refused.code == 1 and only_complaint(refused).startswith(f"jitc: {first} is there already; ")
    assert first.read_bytes() == before
    first.write_text("an older one")
    first.chmod(0o644)
    assert bundle(capfd, *none, "--output", first.name).files
    assert first.stat().st_mode & 0o777 == 0o600 and list(Path.cwd().iterdir()) == [first]


@pytest.mark.parametrize("output", ["/nonexistent/b.tar.gz", "/proc/b.tar.gz", "", "/tmp"])
def test_where_nothing_can_be_written(tmp_path: Path, capfd: pytest.CaptureFixture[str], output: str) -> None:
    found = bundle(capfd, "--socket", str(tmp_path / "none"), "--output", output)
    assert found.code == (1 if output.startswith("/proc") and os.geteuid() == 0 else 2), found.err
    assert "cannot be written" in found.err.splitlines()[-1] and found.out == ""


def test_a_folder_that_is_not_there_any_more(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    found = bundle(capfd, "--socket", str(tmp_path / "none"))
    assert (found.code, found.err) == (2, "jitc: the current folder is gone; name a file with --output\n")


def command(tmp_path: Path, *before: str, **how: Any) -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own; the machine's own doctor is not asked."""
    code = (
        f"import sys; from jitc.proxy.commands import jitc; from jitc.proxy.commands.support import collect; "
        f"collect._DOCTOR = {DOCTOR!r}; sys.exit(jitc.main(['support-bundle', *sys.argv[1:]]))"
    )
    words = [*before, sys.executable, "-c", code, "--socket", str(tmp_path / "none"), *how.pop("words", ())]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | how
    return subprocess.run(words, check=False, timeout=60, **streams)


def test_a_limit_of_file_sizes(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"old")
    done = command(tmp_path, "prlimit", "--fsize=100", words=["--output", str(tmp_path / "f")])
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode().splitlines()[-1] == (
        f"jitc: {tmp_path}/f cannot be written: File too large; name a file elsewhere with --output"
    )
    assert (tmp_path / "f").read_bytes() == b"old"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["f", "here"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can mount a small disk")
def test_a_full_disk(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    script = f'mount -t tmpfs -o size=4k none {disk} && head -c 4096 /dev/zero > {disk}/all; cd {disk} && "$@"; e=$?; '
    done = command(tmp_path, "unshare", "-m", "sh", "-c", script + "ls -A >&2; exit $e", "sh")
    if b"unshare failed" in done.stderr or b"permission denied" in done.stderr:
        pytest.skip(f"no small disk here: {done.stderr!r}")
    *_, complaint, left = done.stderr.decode().splitlines()
    assert (done.returncode, done.stdout, left) == (1, b"", "all")
    assert re.fullmatch(rf"jitc: {disk}/jitc-support-\S+ cannot be written: No space left on device; .*", complaint)


def test_standard_output(tmp_path: Path) -> None:
    done = command(tmp_path, words=["--output", "-"])
    assert done.returncode == 0 and tuple(opened(done.stdout)) == (*BEFORE, *AFTER)
    with open("/dev/full", "wb") as full:
        done = command(tmp_path, words=["--output", "-"], stdout=full)
    assert done.returncode == 1 and done.stderr.decode().splitlines()[-1].endswith("No space left on device")


def test_streams_that_are_closed(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as closed:
        done = command(tmp_path, words=["--output", "-"], stdout=closed)
        assert done.returncode == 1 and b"Traceback" not in done.stderr and b"left out" in done.stderr
        done = command(tmp_path, words=["--output", str(tmp_path / "b")], stderr=closed)
    assert (done.returncode, done.stdout.decode()) == (0, f"{tmp_path}/b\n") and opened((tmp_path / "b").read_bytes())
    done = command(tmp_path, "sh", "-c", 'exec "$@" 1>&-', "sh", words=["--output", "-"])
    assert done.returncode == 2 and b"name a file" in done.stderr


def test_two_documents_do_not_fit_into_standard_output(capfd: pytest.CaptureFixture[str]) -> None:
    found = bundle(capfd, "--json", "--output", "-")
    assert (found.code, found.out) == (2, "") and "only one of --json and --output -" in found.err
