"""`jitc doctor` as a user runs it: text, document, exit status, and names with anything in them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from doctor_rig import clean
from toolkit.documents import refusals

from jitc.proxy.commands.doctor import command
from jitc.proxy.commands.parser import Parser
from jitc.proxy.status.doctor import Doctor
from jitc.proxy.status.documents import mistakes

#: The command without the others.
DOCTOR = """
import sys
from jitc.proxy.commands.doctor.command import add_doctor
from jitc.proxy.commands.parser import Parser
parser = Parser(prog="jitc")
add_doctor(parser.add_subparsers())
arguments = parser.parse_args(["doctor", *sys.argv[1:]])
sys.exit(arguments.act(arguments))
"""


def run(*words: str, **environment: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-c", DOCTOR, *words], env=clean(**environment), capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def document(*words: str, **environment: str) -> tuple[int, dict[str, Any]]:
    code, said, errors = run("--json", *words, **environment)
    assert errors == ""
    found: dict[str, Any] = json.loads(said)
    return code, found


def test_this_machine_is_good(tmp_path: Path) -> None:
    code, found = document("--device", "software", "--socket", str(tmp_path / "s"))
    assert code == 0, [one for one in found["checks"] if one["verdict"] == "bad"]
    assert list(mistakes(found, Doctor)) == [] and refusals(found, "doctor") == []
    assert (found["device"], found["program"], found["bad"]) == ("software", None, 0)
    assert found["good"] + found["unknown"] == len(found["checks"]) > 20
    names = [(one["group"], one["name"]) for one in found["checks"]]
    assert len(set(names)) == len(names)
    groups = list(dict.fromkeys(group for group, _ in names))
    assert groups == ["system", "gpu", "installation", "storage", "service"]
    assert all(one["says"] and bool(one["remedy"]) == (one["verdict"] != "good") for one in found["checks"])


def test_the_text_says_the_same(tmp_path: Path) -> None:
    words = ("--device", "software", "--socket", str(tmp_path / "s"), "--", sys.executable, "-c", "pass")
    code, said, errors = run(*words)
    _, found = document(*words)
    assert (code, errors) == (0, "") and found["program"] == [sys.executable, "-c", "pass"]
    lines = said.splitlines()
    assert [line.split()[0] for line in lines if line.startswith(("good ", "bad ", "unknown "))] == [
        one["verdict"] for one in found["checks"]
    ]
    assert lines[-1] == f"{found['good']} good, {found['bad']} bad, {found['unknown']} unknown"
    assert any(line.startswith("good     glibc           2.") for line in lines)
    assert not [line for line in lines if len(line) > 80 and " " in line[25:].strip().removeprefix("-> ")]


def test_without_a_gpu_the_cuda_device_is_bad(tmp_path: Path) -> None:
    if Path("/dev/nvidiactl").exists():
        pytest.skip("there is a GPU")
    code, found = document("--device", "cuda", "--socket", str(tmp_path / "s"))
    assert code == 1 and list(mistakes(found, Doctor)) == [] and refusals(found, "doctor") == []
    bad_ones = {one["name"] for one in found["checks"] if one["verdict"] == "bad"}
    assert {"device files", "nvml", "driver"} <= bad_ones


def test_a_program_that_does_not_exist(tmp_path: Path) -> None:
    code, found = document("--device", "software", "--socket", str(tmp_path / "s"), "--", "no-such-program")
    assert code == 1 and [one["name"] for one in found["checks"] if one["group"] == "program"] == ["program"]
    assert refusals(found, "doctor") == []


def test_names_with_anything_in_them(tmp_path: Path) -> None:
    name = "two\nlines\x1b[31m"
    (tmp_path / name).mkdir()
    code, said, _ = run(
        "--device", "software", "--socket", "/tmp/s", "--", str(tmp_path / name), JITC_SOCKET=f"/tmp/{name}",
        LD_PRELOAD=f"/none/{name}", CUDA_VISIBLE_DEVICES=name, TMPDIR=str(tmp_path / name),
    )  # fmt: skip
    assert code == 1 and "\x1b" not in said and "two\\nlines\\x1b[31m" in said
    lines = said.splitlines()
    assert not [line for line in lines if line.startswith("lines")]


def test_nobody_reads_the_rest(tmp_path: Path) -> None:
    """Nothing is said but what the document has, whatever the processes of checks print."""
    _, _, errors = run("--device", "cuda", "--socket", str(tmp_path / "s"))
    assert errors == ""


@pytest.mark.parametrize(
    ("named", "files", "device"),
    [("", [], "software"), ("", ["nvidiactl"], "cuda"), ("software", ["nvidia0"], "software"), ("x", [], "software")],
)
def test_which_device(
    named: str, files: list[str], device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JITC_DEVICE", named)
    for one in files:
        (tmp_path / one).touch()
    assert command._device(tmp_path) == device


def test_wrong_words(capsys: pytest.CaptureFixture[str]) -> None:
    parser = Parser(prog="jitc")
    command.add_doctor(parser.add_subparsers())
    for words, said in ((["--device", "abacus"], "there is no value"), (["--socket", "x" * 100], "longer than")):
        with pytest.raises(SystemExit) as end:
            parser.parse_args(["doctor", *words])
        assert end.value.code == 2 and said in capsys.readouterr().err


def test_nothing_heavy_is_imported_for_the_help() -> None:
    heavy = ("grpc", "torch", "jitc.proxy.commands.doctor.check", "jitc.client_shim.native_parts.supply")
    code = (
        f"import sys; import jitc.proxy.commands.doctor.command; print([one for one in {heavy} if one in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd="/")
    assert done.stdout.strip() == "[]"
